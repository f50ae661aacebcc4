package outside

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestA10_ACancelBeforeThe101ClosesThePathAfterIt(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		w.counts.whenOpened("call-tool", func() {
			if !c.ask.Cancel() {
				t.Error("told already")
			}
		})
		answer := p.open(ask) // which reads the 101 first
		if code, _ := answer.ReadClose(); code != 1000 {
			t.Errorf("closed with %d", code)
		}
		answer.Close(1000)
		answer.ReadEOF()
		eventually(t, "the channel is finished", func() bool { return p.refused(ask) == http.StatusNotFound })
		c.untold()
	})
}

// TestNothingOpensDuringShutdown has Shutdown begin while a connection is on its
// way from HTTP to its socket.
func TestNothingOpensDuringShutdown(t *testing.T) {
	for name, target := range map[string]func(codec.Ask) string{
		"answer":   func(ask codec.Ask) string { return path(ask.Kind, ask.Channel) },
		"requests": func(codec.Ask) string { return "/containers/other/requests" },
		"list":     func(codec.Ask) string { return "/containers" },
	} {
		t.Run(name, func(t *testing.T) {
			var late atomic.Bool
			taken, proceed := make(chan struct{}), make(chan struct{})
			letGo := sync.OnceFunc(func() { close(proceed) })
			defer letGo()
			w := begin(t, withWatched(func() {
				if late.Load() {
					close(taken)
					<-proceed
				}
			}))
			p := w.provider("default")
			call := w.callTool(toolAsk)
			ask := p.call()
			p.notifications()
			late.Store(true)
			c := w.plain()
			if _, err := io.WriteString(c, "GET "+target(ask)+" HTTP/1.1\r\n"+upgradeHeaders+"\r\n"); err != nil {
				t.Fatal(err)
			}
			<-taken
			done := make(chan struct{})
			go func() { defer close(done); w.shutdown() }()
			arrivals := func() (n int, closing bool) {
				w.handler.roster.mu.Lock()
				defer w.handler.roster.mu.Unlock()
				return w.handler.roster.arrivals.count, w.handler.roster.closing
			}
			eventually(t, "the shutdown has begun", func() bool { _, closing := arrivals(); return closing })
			letGo()
			eventually(t, "the upgrade is over", func() bool { n, _ := arrivals(); return n == 0 })
			if response, _ := io.ReadAll(c); len(response) != 0 {
				t.Errorf("answered with %q", response)
			}
			p.requests.ReadClose()
			p.requests.Close(1001) // not before, for the channel would be lost with it
			<-done
			if opened, _ := w.counts.sockets(); opened != 1 {
				t.Errorf("%d sockets opened, wanted the first one only", opened)
			}
			claim, err := w.mux.Claim("other")
			if err != nil {
				t.Fatal(err)
			}
			claim.Detach()
			call.untold()
		})
	}
}
