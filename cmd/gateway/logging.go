package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
)

// newLogger logs to w: as text when the format says so or w is a terminal, as JSON otherwise.
func newLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	if format == "text" || format == "auto" && terminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// readable makes JSON say what text says: durations, addresses and named numbers as people write them.
func readable(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		return slog.String(a.Key, a.Value.Duration().String())
	case slog.KindAny:
		switch named := a.Value.Any().(type) {
		case error: // the handlers know what it says
		case fmt.Stringer:
			return slog.String(a.Key, named.String())
		}
	}
	return a
}

func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
