package stream

import (
	"net"
	"os"
	"sync"
	"time"
)

// gate is a Conn in memory that takes as many bytes as it was granted, and keeps
// what it took.
type gate struct {
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change
	open     bool          // takes everything
	room     int
	wire     []byte
	deadline time.Time
	closed   int
	fails    error // of every write from now on
	panics   bool
}

func newGate(room int) *gate { return &gate{changed: make(chan struct{}), room: room} }

func openGate() *gate {
	g := newGate(0)
	g.open = true
	return g
}

func (g *gate) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *gate) grant(n int)    { g.change(func() { g.room += n }) }
func (g *gate) grantAll()      { g.change(func() { g.open = true }) }
func (g *gate) fail(err error) { g.change(func() { g.fails = err }) }

func (g *gate) take(p []byte) (int, error) {
	switch {
	case g.panics:
		panic("gate")
	case g.closed > 0:
		return 0, net.ErrClosed
	case g.fails != nil:
		return 0, g.fails
	}
	n := len(p)
	if !g.open {
		n = min(n, g.room)
		g.room -= n
	}
	g.wire = append(g.wire, p[:n]...)
	return n, nil
}

func (g *gate) TryWrite(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.take(p)
}

func (g *gate) takeOrWait(p []byte) (n int, changed chan struct{}, deadline time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, err = g.take(p)
	return n, g.changed, g.deadline, err
}

func (g *gate) Write(p []byte) (int, error) {
	written := 0
	for {
		n, changed, deadline, err := g.takeOrWait(p[written:])
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
		var late <-chan time.Time
		if !deadline.IsZero() {
			late = time.After(time.Until(deadline))
		}
		select {
		case <-changed:
		case <-late:
			return written, os.ErrDeadlineExceeded
		}
	}
}

func (g *gate) SetWriteDeadline(t time.Time) error {
	g.change(func() { g.deadline = t })
	return nil
}

func (g *gate) Close() error {
	g.change(func() { g.closed++ })
	return nil
}

func (g *gate) sent() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return string(g.wire)
}

func (g *gate) timesClosed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}
