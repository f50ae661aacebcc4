package wsock

import (
	"sync/atomic"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// Run returns once all is over, and not before, however it ends.
func TestRunReturnsWhenTheConnectionIsOver(t *testing.T) {
	for name, end := range map[string]func(*Conn, *wstest.Peer){
		"closed":    func(_ *Conn, p *wstest.Peer) { p.Close(1000); p.ReadClose(); p.ReadEOF() },
		"violated":  func(_ *Conn, p *wstest.Peer) { p.Raw([]byte{0xff, 0}); p.ReadClose(); p.ReadEOF(); p.NC.Close() },
		"reset":     func(_ *Conn, p *wstest.Peer) { p.Reset() },
		"cut":       func(c *Conn, _ *wstest.Peer) { c.Cut() },
		"closed us": func(c *Conn, p *wstest.Peer) { c.Close(1001, ""); p.ReadClose(); p.Close(1001); p.ReadEOF() },
		"a panic":   func(_ *Conn, p *wstest.Peer) { p.Binary([]byte("boom")); p.ReadGone() },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := sockets(t)
			r, ended := newRecorder(), make(chan Ending, 1)
			r.onMessage = func(b []byte) *Violation {
				if string(b) == "boom" {
					<-r.messages
					panic("boom")
				}
				return nil
			}
			r.onEnded = func(e Ending) { ended <- e }
			var c Conn
			c.Init(ours, nil, &Config{})
			p := wstest.Wrap(t, theirs, true)
			var over atomic.Bool
			returned := make(chan struct{})
			go func() {
				defer close(returned)
				c.Run(r)
				over.Store(true)
			}()
			for range 3 {
				p.Binary([]byte("hello"))
				same(t, r.message(t), []byte("hello"))
			}
			if over.Load() {
				t.Error("it returned while the connection is open")
			}
			end(&c, p)
			<-returned
			select {
			case <-ended:
			default:
				t.Error("it returned before the handler was told")
			}
			if _, err := ours.Write([]byte("x")); err == nil {
				t.Error("the connection is still open")
			}
		})
	}
}
