package wsock

import (
	"runtime"
	"testing"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// drainedSoon waits until c is drained, and neverDrained fails if it is within a
// while.
func drainedSoon(t *testing.T, c *Conn) {
	t.Helper()
	until(t, "the connection being drained", c.Drained)
}

func neverDrained(t *testing.T, c *Conn, when string) {
	t.Helper()
	for range 200 {
		if c.Drained() {
			t.Fatalf("drained %s", when)
		}
		runtime.Gosched()
	}
}

func TestDrainedIsFalseUntilTheHandlerHasHadEveryByte(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		handle := make(chan struct{})
		r := newRecorder()
		r.onMessage = func([]byte) *Violation { <-handle; return nil }
		ours, theirs := sockets(t)
		p := wstest.Wrap(t, theirs, !cfg.Client)
		early := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: !cfg.Client, Payload: []byte("early")})
		c := New(ours, early, cfg)
		t.Cleanup(c.Cut)
		neverDrained(t, c, "before Serve")
		c.Serve(r)
		same(t, r.message(t), []byte("early"))
		neverDrained(t, c, "while the Handler has what came early")
		handle <- struct{}{}
		for range 3 {
			drainedSoon(t, c)
			p.Binary([]byte("x"))
			r.message(t)
			neverDrained(t, c, "while the Handler has a message")
			handle <- struct{}{}
		}
		drainedSoon(t, c)
	})
}

func TestDrainedIsFalseWithinAMessage(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		theirs := sock.Wrap(p.NC)
		drainedSoon(t, c)
		whole := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: !cfg.Client, Payload: pattern(3 * grain)})
		for _, cut := range []int{1, 5, 20, 2 * grain, len(whole) - 1} {
			p.Raw(whole[:cut])
			until(t, "the frame's beginning having arrived", func() bool { n, _ := theirs.Unacknowledged(); return n == 0 })
			neverDrained(t, c, "within a frame")
			p.Raw(whole[cut:])
			r.message(t)
			drainedSoon(t, c)
		}
		p.Send(wstest.Frame{Op: wstest.OpBinary, Payload: []byte("a")})
		p.Ping(nil)
		p.ReadPong() // the first fragment is read, and the reader waits between frames
		neverDrained(t, c, "within a fragmented message")
		p.Send(wstest.Frame{Fin: true, Op: wstest.OpContinuation, Payload: []byte("b")})
		same(t, r.message(t), []byte("ab"))
		drainedSoon(t, c)
		p.Send(wstest.Frame{Op: wstest.OpText, Payload: []byte("ignored")}, wstest.Frame{Fin: true, Op: wstest.OpPing})
		p.ReadPong()
		drainedSoon(t, c)
	})
}

func TestArrivedTellsWhatThePeersSystemHas(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := served(t, cfg)
		start := c.Position()
		if !c.Arrived(start) {
			t.Fatal("nothing has not arrived")
		}
		c.Append(nil, []byte("first"))
		first := c.Position()
		if first <= start || c.Arrived(first) {
			t.Fatalf("position %d after %d; arrived before it was flushed: %v", first, start, c.Arrived(first))
		}
		c.Flush()
		until(t, "the first message, which nobody reads, having arrived", func() bool { return c.Arrived(first) })

		const many = 24
		for range many {
			c.Append(nil, make([]byte, 1<<20)) // far more than the kernels hold
			c.Flush()
		}
		last := c.Position()
		if c.Arrived(last) {
			t.Error("arrived where nobody reads")
		}
		read := make(chan int)
		go func() {
			n := 0
			for f, err := p.Next(); err == nil; f, err = p.Next() {
				n += len(f.Payload)
			}
			read <- n
		}()
		looks := 0
		until(t, "all having arrived, while more is sent", func() bool {
			if looks++; looks%64 == 0 {
				c.Append(nil, []byte("more"))
				c.Flush()
			}
			return c.Arrived(last)
		})
		c.Cut()
		if n := wait(t, "the reader", read); n < 5+many<<20 {
			t.Errorf("%d bytes were read", n)
		}
		r.abrupt(t, 0)
	})
}

func TestWhatIsDroppedNeverArrives(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, _, r := served(t, cfg)
		for range 24 {
			c.Append(nil, make([]byte, 1<<20))
			c.Flush()
		}
		last := c.Position()
		c.Cut()
		r.abrupt(t, 0)
		until(t, "the rest being dropped", func() bool { return c.Pending() == 0 })
		if c.Arrived(last) {
			t.Error("what was dropped has arrived")
		}
		if at := c.Position(); at >= last || !c.Arrived(at) {
			t.Errorf("position %d of a connection that ended before it came to %d; arrived there: %v", at, last, c.Arrived(at))
		}
	})
}
