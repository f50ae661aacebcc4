package outside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// patience is how long a test waits for what must happen.
const patience = wstest.Patience

// reaskAfter is the wait of protocol A5 in tests; only the test moves the clock.
const reaskAfter = time.Second

// idle is how long a container may do nothing; nobody looks but world.idle.
const idle = time.Hour

// idle has all containers be idle for as long as they may.
func (w *world) idle() {
	w.clock.advance(idle)
	w.mux.Sweep()
}

// world is one gateway half: this listener on a real port, with a mux behind it.
type world struct {
	t       testing.TB
	mux     *mux.Mux
	clock   *clock
	reask   time.Duration
	handler *Handler
	addr    string
	counts  *counts
	log     *logBuffer
	faulty  bool // the test causes a panic

	accepted atomic.Pointer[net.Conn] // the first there was

	mu     sync.Mutex
	heard  map[string]*heard
	served chan error
}

// setup is what an option changes before a world begins.
type setup struct {
	mux     mux.Config
	config  Config
	timeout time.Duration // of handshakes; 0: New's own
	unread  int           // changes on a list of containers
	now     func() time.Time
	taken   func() // see watched; nil: connections are as they are accepted
}

type option func(*setup)

func withMaxMessage(n int) option     { return func(s *setup) { s.config.MaxMessage = n } }
func withPing(d time.Duration) option { return func(s *setup) { s.config.Ping = d } }
func withFirstChannel(n uint32) option {
	return func(s *setup) { s.mux.FirstChannel = func() uint32 { return n } }
}
func withUnread(n int) option               { return func(s *setup) { s.unread = n } }
func withReaskAfter(d time.Duration) option { return func(s *setup) { s.mux.ReaskAfter = d } }
func withTimeout(d time.Duration) option    { return func(s *setup) { s.timeout = d } }

// modes runs a test of the wire under the three ways of asking again.
func modes(t *testing.T, test func(t *testing.T, w *world), opts ...option) {
	for _, mode := range []struct {
		name  string
		after time.Duration
	}{{"after", reaskAfter}, {"at_once", 0}, {"never", mux.Never}} {
		t.Run(mode.name, func(t *testing.T) {
			test(t, begin(t, append(opts, withReaskAfter(mode.after))...))
		})
	}
}

// begin starts a world that is shut down with the test, and must then have
// seen no fault of the program.
func begin(t testing.TB, opts ...option) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), counts: newCounts(), log: &logBuffer{}, heard: map[string]*heard{}, served: make(chan error, 1)}
	s := setup{
		mux: mux.Config{
			ReaskAfter: reaskAfter, Clock: w.clock, Idle: idle, Now: w.clock.Now,
			NewSink: func(id string) mux.Sink { return w.sink(id) },
		},
		config: Config{
			MaxMessage: 1 << 20, Observer: w.counts,
			Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		},
		unread: maxUnread,
	}
	for _, o := range opts {
		o(&s)
	}
	w.reask = s.mux.ReaskAfter
	w.mux = mux.New(s.mux)
	s.config.Mux = w.mux
	w.handler = New(s.config)
	if s.now != nil {
		w.handler.now = s.now
	}
	if s.timeout > 0 {
		w.handler.timeout = s.timeout
	}
	w.handler.unread = s.unread
	ln, err := sock.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = ln.Addr().String()
	go func() { w.served <- w.handler.Serve(&recorder{ln, &w.accepted, s.taken}) }()
	t.Cleanup(func() {
		w.shutdown()
		w.mux.Stop()
		if illegal, panics := w.mux.Stats().Illegal, w.counts.panics(); !w.faulty && illegal+int64(panics) != 0 {
			t.Errorf("%d illegal calls of the mux, %d panics, log:\n%s", illegal, panics, w.log)
		}
		if opened, closed := w.counts.sockets(); opened != closed {
			t.Errorf("%d sockets opened, %d closed", opened, closed)
		}
	})
	return w
}

func (w *world) shutdown() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.handler.Shutdown(ctx); err != nil {
		w.t.Errorf("shutdown: %v", err)
	}
	select {
	case err := <-w.served:
		if err != nil && !errors.Is(err, ErrStopped) { // a test may be over before Serve has begun
			w.t.Errorf("serve: %v", err)
		}
		w.served <- nil
	case <-ctx.Done():
		w.t.Error("Serve did not return after Shutdown")
	}
}

// eventually waits until holds is true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// call is an ask whose caller records how it is settled.
type call struct {
	w       *world
	ask     *mux.Ask
	settled chan settled
}

// settled is a Settlement whose bytes were copied.
type settled struct {
	outcome mux.Outcome
	tag     codec.Tag
	body    string
	err     error
	limit   int
}

// Settle implements mux.Caller. A second call would fill the channel and fail
// the test with a panic that the mux's owner counts.
func (c *call) Settle(s mux.Settlement) {
	select {
	case c.settled <- settled{s.Outcome, s.Answer.Tag, string(s.Answer.Body), s.Err, s.Limit}:
	default:
		panic("settled twice")
	}
}

// ask makes an ask of a container, as an MCP client's request would.
func (w *world) ask(container string, k codec.Kind, payload string) *call {
	c := &call{w: w, settled: make(chan settled, 1)}
	c.ask = asked(there(w.mux.Container(container)).Ask(k, []byte(payload), c))
	return c
}

func (w *world) callTool(payload string) *call { return w.ask("default", codec.CallTool, payload) }

func (c *call) wait() settled {
	c.w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case s := <-c.settled:
		return s
	case <-deadline.C:
		c.w.t.Fatal("the caller was never told")
		return settled{}
	}
}

// answered waits for the caller's answer and compares it.
func (c *call) answered(body string) {
	c.w.t.Helper()
	if s := c.wait(); s.outcome != mux.Answered || s.tag != codec.TagResult || s.body != body {
		c.w.t.Fatalf("the caller was told %v %v %q %v, wanted the result %q", s.outcome, s.tag, s.body, s.err, body)
	}
}

// outcome waits for an outcome that is no answer.
func (c *call) outcome(want mux.Outcome) settled {
	c.w.t.Helper()
	s := c.wait()
	if s.outcome != want {
		c.w.t.Fatalf("the caller was told %v %q, wanted %v", s.outcome, s.body, want)
	}
	return s
}

// untold fails if the caller was told anything so far.
func (c *call) untold() {
	c.w.t.Helper()
	select {
	case s := <-c.settled:
		c.w.t.Fatalf("the caller was told %v %q already", s.outcome, s.body)
	default:
	}
}

// heard is one container's sink.
type heard struct{ ch chan string }

func (h *heard) Notify(n codec.Notification) { h.ch <- string(n.Raw) }

func (w *world) sink(container string) *heard {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.heard[container]
	if h == nil {
		h = &heard{ch: make(chan string, 1024)}
		w.heard[container] = h
	}
	return h
}

// hears waits for the container's next notification and compares it.
func (w *world) hears(container, want string) {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case got := <-w.sink(container).ch:
		if got != want {
			w.t.Fatalf("heard %s, wanted %s", got, want)
		}
	case <-deadline.C:
		w.t.Fatalf("never heard %s", want)
	}
}

// hearsNothing fails if a notification is there that no hears took.
func (w *world) hearsNothing(container string) {
	w.t.Helper()
	select {
	case got := <-w.sink(container).ch:
		w.t.Fatalf("heard %s, wanted nothing", got)
	default:
	}
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) count(part string) int { return strings.Count(l.String(), part) }

// path is where the answer to an ask goes, below the container's base.
func path(k codec.Kind, channel uint32) string { return fmt.Sprintf("/mcp/%s/%d", k.Name(), channel) }

// plain opens a TCP connection that speaks only what the test writes.
func (w *world) plain() net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// there is a container that may not be refused.
func there(c *mux.Container, err error) *mux.Container {
	if err != nil {
		panic(err)
	}
	return c
}

// asked is an ask that may not be refused.
func asked(a *mux.Ask, err error) *mux.Ask {
	if err != nil {
		panic(err)
	}
	return a
}
