package bench

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/gateway"
)

// running is a gateway in this process, on free ports.
type running struct{ outside, inside string }

func start(tb testing.TB) *running {
	tb.Helper()
	cfg := gateway.Default()
	cfg.Outside, cfg.Inside, cfg.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Ping, cfg.SSEKeepAlive = time.Hour, time.Hour // nothing moves while memory is read
	cfg.Logger = slog.New(slog.DiscardHandler)
	g, err := gateway.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := g.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			tb.Errorf("the gateway did not close in time: %v", err)
		}
	})
	return &running{outside: g.OutsideAddr().String(), inside: g.InsideAddr().String()}
}
