package answer

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// hushed is how long the runs of a fleet are quiet about their connections after one of them has warned.
const hushed = 10 * time.Second

// hush keeps the runs of a fleet from all saying the same at once, as when their gateway is restarted.
type hush struct {
	until atomic.Int64 // Unix time in nanoseconds
}

// level is that of a warning, which only the first of many is.
func (h *hush) level() slog.Level {
	now := time.Now()
	until := h.until.Load()
	if now.UnixNano() < until || !h.until.CompareAndSwap(until, now.Add(hushed).UnixNano()) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// alarm is the level at which trouble with a connection is logged; first says that it is not just going on.
func (r *run) alarm(first bool) slog.Level {
	switch {
	case r.hush != nil:
		return r.hush.level()
	case first:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// calm is the level at which a connection that comes or goes as it should is logged.
func (r *run) calm() slog.Level {
	if r.hush != nil {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
