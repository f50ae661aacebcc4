package answer

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// half is a real gateway's outside half whose containers count together what they
// hear.
type half struct {
	url   string
	mux   *mux.Mux
	held  chan struct{} // who hears waits until it is closed; nil: never
	heard atomic.Int64
}

func (g *half) Notify(codec.Notification) {
	if g.held != nil {
		<-g.held
	}
	g.heard.Add(1)
}

func newHalf(t *testing.T, held chan struct{}) *half {
	g := &half{held: held}
	g.mux = mux.New(mux.Config{NewSink: func(string) mux.Sink { return g }})
	h := outside.New(outside.Config{Mux: g.mux, MaxMessage: 1 << 20, Logger: quiet})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.url = "ws://" + ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), wstest.Patience)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := soon(t, served); err != nil {
			t.Errorf("serve: %v", err)
		}
		g.mux.Stop()
	})
	return g
}

// awaitDrained polls, as whoever waits for it has to.
func awaitDrained(t *testing.T, drained func() bool) {
	t.Helper()
	for deadline := time.Now().Add(wstest.Patience); !drained(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Error("never drained")
			return
		}
	}
}
