package answer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

func TestAGatewayThatUpgradesNoPathCostsABoundedNumberOfHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &fakeSocket{}
		var dialling atomic.Int32
		s := &Server{Gateway: "ws://gateway", Handler: fixed(`{"content":[]}`, nil), Logger: quiet, jitter: func() float64 { return 0 }}
		s.dial = func(ctx context.Context, url string, _ http.Header, _ *wsock.Config) (socket, error) {
			if strings.HasSuffix(url, "/requests") {
				return line, nil
			}
			dialling.Add(1)
			defer dialling.Add(-1)
			<-ctx.Done() // as long as the dial may take
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		for channel := range uint32(4 * maxHandshakes) {
			line.message(ask(channel+1, codec.CallTool, `{}`))
		}
		synctest.Wait()
		if n := dialling.Load(); n != maxHandshakes {
			t.Errorf("%d handshakes at once, want %d", n, maxHandshakes)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAnAttemptThatKeepsFailingSaysSoOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &Server{Gateway: "ws://gateway", Handler: fixed("", nil), Logger: slog.New(slog.NewTextHandler(&log, nil)), jitter: func() float64 { return 0.5 },
			dial: func(context.Context, string, http.Header, *wsock.Config) (socket, error) {
				return nil, errors.New("404")
			}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		pass(10*time.Minute + time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "cannot listen for asks"); n < 9 || n > 11 {
			t.Errorf("said %d times in ten minutes, want about 10", n)
		}
	})
}

func TestWhatAHandlersErrorSaysIsForTheLogAndNotForTheCaller(t *testing.T) {
	const secret = "dial tcp 10.1.2.3:3001: connect: connection refused"
	var log strings.Builder
	p := newProxy(t)
	r := run1(t, &Server{Gateway: p.url(), Container: "c1", Handler: fixed("", errors.New(secret)),
		Logger: slog.New(slog.NewTextHandler(&log, nil)), jitter: func() float64 { return 0 }})
	r.line = next(t, p.requests).accept()
	r.line.Binary(ask(1, codec.CallTool, `{}`))
	if got := string(taken(t, p, "/containers/c1/mcp/call-tool/1")); strings.Contains(got, "10.1.2.3") || !strings.Contains(got, "-32603") {
		t.Errorf("the caller is told %q", got)
	}
	r.stopped()
	if strings.Count(log.String(), secret) != 1 {
		t.Errorf("the log does not say it once: %s", log.String())
	}
}
