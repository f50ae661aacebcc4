package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

func TestJSONLogsSayWhatPeopleRead(t *testing.T) {
	var out strings.Builder
	newLogger(&out, slog.LevelInfo, "json").Info("m", "wait", 1500*time.Millisecond, "error", errors.New("broken"),
		"peer", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})
	for _, want := range []string{`"level":"INFO"`, `"wait":"1.5s"`, `"error":"broken"`, `"peer":"127.0.0.1:80"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

func TestHelpAndVersionAreUnderstoodInEitherSpelling(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"help", "serve"}, {"--version"}} {
		var stdout, stderr strings.Builder
		if status := Run(context.Background(), args, &stdout, &stderr); status != exitOK || stdout.Len() == 0 || stderr.Len() != 0 {
			t.Errorf("%v: status %d, printed %q and %q", args, status, stdout.String(), stderr.String())
		}
	}
}
