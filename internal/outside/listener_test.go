package outside

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// recorder is a listener that remembers the first connection it accepted, and
// watches all of them if taken is set.
type recorder struct {
	net.Listener
	first *atomic.Pointer[net.Conn]
	taken func()
}

func (l *recorder) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.taken != nil {
		c = &watched{Conn: c, taken: l.taken}
	}
	l.first.CompareAndSwap(nil, &c)
	return c, nil
}

// held is the gateway's end of the first socket there was.
func (w *world) held(t *testing.T) net.Conn {
	t.Helper()
	eventually(t, "one connection is accepted", func() bool { return w.accepted.Load() != nil })
	return *w.accepted.Load()
}

// withWatched has every connection watched. taken is called once a connection's
// last request has the right shape, before its state is judged.
func withWatched(taken func()) option { return func(s *setup) { s.taken = taken } }

// watched is the gateway's end of a connection, and knows what was done with it.
// It has only the slow ways of package sock.
type watched struct {
	net.Conn
	taken func()

	mu      sync.Mutex
	writes  int
	readBy  []time.Time
	writeBy []time.Time
}

func (c *watched) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.writes++
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *watched) SetReadDeadline(by time.Time) error {
	err := c.Conn.SetReadDeadline(by)
	c.mu.Lock()
	c.readBy = append(c.readBy, by)
	c.mu.Unlock()
	if by.IsZero() { // the handshake's time is over
		c.taken()
	}
	return err
}

func (c *watched) SetWriteDeadline(by time.Time) error {
	c.mu.Lock()
	c.writeBy = append(c.writeBy, by)
	c.mu.Unlock()
	return c.Conn.SetWriteDeadline(by)
}

func (c *watched) seen() (writes int, readBy, writeBy []time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes, slices.Clone(c.readBy), slices.Clone(c.writeBy)
}

// scripted is a listener that hands out what a test gives it.
type scripted struct {
	accepts chan func() (net.Conn, error)
	closed  chan struct{}
	once    sync.Once
}

func newScripted() *scripted {
	return &scripted{accepts: make(chan func() (net.Conn, error)), closed: make(chan struct{})}
}

func (l *scripted) Accept() (net.Conn, error) {
	select {
	case accept := <-l.accepts:
		return accept()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *scripted) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *scripted) Addr() net.Addr { return &net.TCPAddr{} }

// mute is a connection on which nothing can be written.
type mute struct{ net.Conn }

var errMute = errors.New("nothing can be written")

func (mute) Write([]byte) (int, error) { return 0, errMute }

func TestServeReturnsTheErrorOfAListenerThatIsGone(t *testing.T) {
	w := begin(t)
	l := newScripted()
	served := make(chan error, 1)
	go func() { served <- w.handler.Serve(l) }()
	broken := errors.New("broken")
	l.accepts <- func() (net.Conn, error) { return nil, broken }
	if err := <-served; !errors.Is(err, broken) {
		t.Errorf("Serve: %v", err)
	}
	select {
	case <-l.closed:
	default:
		t.Error("the listener was not closed")
	}
	w.provider("default").quiet() // the other listener goes on
}

// muted serves one connection on which the gateway can write nothing, and sends
// a request on it.
func (w *world) muted(request string) {
	w.t.Helper()
	l := newScripted()
	served := make(chan error, 1)
	go func() { served <- w.handler.Serve(l) }()
	ours, theirs := net.Pipe()
	w.t.Cleanup(func() { _ = ours.Close() })
	l.accepts <- func() (net.Conn, error) { return mute{theirs}, nil }
	if err := ours.SetDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.WriteString(ours, request); err != nil {
		w.t.Fatal(err)
	}
	_ = l.Close()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		w.t.Fatalf("Serve: %v", err)
	}
}

func TestA5_A101ThatCannotBeWrittenIsAnAbruptEnd(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		// The answer and a Close come early: nobody was there to be answered, all the same.
		early := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Masked: true, Op: wstest.OpBinary, Payload: result(`{"content":["no"]}`)})
		early = wstest.AppendFrame(early, wstest.Frame{Fin: true, Masked: true, Op: wstest.OpClose})
		w.muted("GET " + path(ask.Kind, ask.Channel) + " HTTP/1.1\r\n" + upgradeHeaders + "\r\n" + string(early))
		opened := func() bool { _, closed := w.counts.sockets(); return closed == 1 }
		eventually(t, "the upgrade has failed", opened)
		p.answer(p.again(ask, 0), result(toolAnswer))
		c.answered(toolAnswer)
	})
}

func TestR5_TheClaimIsFreeWhenThe101CannotBeWritten(t *testing.T) {
	w := begin(t)
	c := w.callTool(toolAsk)
	w.muted("GET /requests HTTP/1.1\r\n" + upgradeHeaders + "\r\n")
	eventually(t, "the upgrade has failed", func() bool { _, closed := w.counts.sockets(); return closed == 1 })
	p := w.provider("default")
	p.answer(p.call(), result(toolAnswer))
	c.answered(toolAnswer)
}
