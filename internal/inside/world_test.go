package inside

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

var testKey = bytes.Repeat([]byte("k"), minSessionKey)

// clock is a clock that tests set.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	broken string // what the next look panics with
}

func newClock() *clock { return &clock{now: time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if broken := c.broken; broken != "" {
		c.broken = ""
		panic(broken)
	}
	return c.now
}

// breakOnce makes whoever looks at the clock next panic.
func (c *clock) breakOnce(with string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = with
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// counts is an Observer that remembers, and wakes who waits for a count.
type counts struct {
	mu   sync.Mutex
	cond sync.Cond
	seen map[string]int
}

func newCounts() *counts {
	c := &counts{seen: make(map[string]int)}
	c.cond.L = &c.mu
	return c
}

func (c *counts) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[what]++
	c.cond.Broadcast()
}

func (c *counts) Refused(listener, reason string) { c.add("refused " + listener + " " + reason) }
func (c *counts) Exchange(k codec.Kind, outcome string, _ time.Duration) {
	c.add("exchange " + k.Name() + " " + outcome)
}
func (c *counts) Unheard(reason string) { c.add("unheard " + reason) }
func (c *counts) Panicked(where string) { c.add("panicked " + where) }

func (c *counts) of(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[what]
}

// reset begins to count anew.
func (c *counts) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.seen)
}

// await waits until something was counted n times.
func (c *counts) await(t testing.TB, what string, n int) {
	t.Helper()
	late := time.AfterFunc(patience, func() { c.add("late") })
	defer late.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.seen[what] < n {
		if c.seen["late"] > 0 {
			t.Fatalf("%q was counted %d times, want %d; counted: %v", what, c.seen[what], n, c.seen)
		}
		c.cond.Wait()
	}
}

// idle is how long a container may do nothing.
const idle = 10 * time.Minute

// idle has all containers be idle for as long as they may.
func (w *world) idle() {
	w.idling.pass(idle)
	w.mux.Sweep()
}

// world is a gateway's inside on a loopback socket, with a fake server side.
type world struct {
	t        testing.TB
	mux      *mux.Mux
	faces    *Faces
	handler  *Handler
	addr     string
	clock    *clock // of the sessions
	idling   *clock // of the containers
	observed *counts
	streams  *stream.Counters
	stop     func()
}

type options struct {
	key       []byte
	clock     *clock
	ttl       time.Duration
	maxBody   int
	keepAlive time.Duration
	sseAfter  time.Duration
	farSide   string
	origins   []string
	loopback  bool
	stream    func(*stream.Config)
	logger    *slog.Logger
	pace      pace
	limits    mux.Limits
	streams   int      // of one container
	keys      *keyring // nil: nobody is asked for a token
}

func newWorld(t testing.TB, set ...func(*options)) *world {
	t.Helper()
	w := newDeafWorld(t, set...)
	w.listen()
	return w
}

// listen gives a deaf world its listener, and ends both with the test.
func (w *world) listen() {
	t := w.t
	t.Helper()
	ln, err := sock.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- w.handler.Serve(ln) }()
	stop := w.stop
	w.stop = sync.OnceFunc(func() {
		stop()
		if err := <-served; err != nil && !errors.Is(err, ErrStopped) { // it may not have begun yet
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(w.stop)
}

// newDeafWorld is a world without a listener. Who makes it stops it.
func newDeafWorld(t testing.TB, set ...func(*options)) *world {
	t.Helper()
	o := options{key: testKey, clock: newClock(), ttl: 24 * time.Hour, maxBody: 8 << 20, keepAlive: time.Hour, sseAfter: time.Hour, pace: usualPace}
	for _, f := range set {
		f(&o)
	}
	w := &world{t: t, clock: o.clock, idling: newClock(), observed: newCounts(), streams: new(stream.Counters)}
	policy := &stream.Config{Messages: 256, Bytes: 1 << 20, Stall: 30 * time.Second, Counters: w.streams}
	if o.stream != nil {
		o.stream(policy)
	}
	var err error
	w.faces, err = NewFaces(FacesConfig{Stream: policy, SessionKey: o.key, SessionTTL: o.ttl, MaxStreams: o.streams, Observer: w.observed, Now: o.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.mux = mux.New(mux.Config{ReaskAfter: mux.Never, NewSink: w.faces.New, Idle: idle, Now: w.idling.Now, Limits: o.limits})
	config := Config{
		Mux: w.mux, Faces: w.faces, MaxBody: o.maxBody, KeepAlive: o.keepAlive, SSEAfter: o.sseAfter, FarSide: o.farSide,
		AllowOrigin: o.origins, LoopbackOrigins: o.loopback,
		Server: Implementation{Name: "gateway", Version: "test"}, Observer: w.observed, Logger: o.logger,
	}
	if o.keys != nil {
		config.Keys = o.keys.Open()
	}
	if w.handler, err = New(config); err != nil {
		t.Fatal(err)
	}
	w.handler.pace = o.pace
	if o.keys != nil {
		w.handler.now = o.keys.clock.Now
	}
	w.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.mux.Stop()
		if err := w.handler.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		// Whoever entered a container has exited.
		w.idle()
		if s := w.mux.Stats(); s.Present != 0 || s.Illegal != 0 {
			t.Errorf("%d containers are entered for ever, %d illegal calls", s.Present, s.Illegal)
		}
	})
	return w
}
