package mux

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// frame is one announcement as a fakeLine recorded it.
type frame struct {
	channel uint32
	kind    codec.Kind
	payload string
}

// fakeLine records what is announced.
type fakeLine struct {
	mu      sync.Mutex
	frames  []frame
	flushed int // frames that were there at the last Flush
	probes  int
}

func (l *fakeLine) Announce(channel uint32, k codec.Kind, payload []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, frame{channel, k, string(payload)})
}

func (l *fakeLine) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed = len(l.frames)
}

func (l *fakeLine) Probe() { l.probes++ }

func (l *fakeLine) all() []frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.frames)
}

// sent is how many frames were flushed.
func (l *fakeLine) sent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushed
}

// fakeCaller records its settlements, with answers copied: they are borrowed.
type fakeCaller struct {
	log  []Settlement
	gone bool // and nobody has noticed
}

func (c *fakeCaller) Gone() bool { return c.gone }

func (c *fakeCaller) Settle(s Settlement) {
	s.Answer.Body = bytes.Clone(s.Answer.Body)
	c.log = append(c.log, s)
}

type fakeSocket struct{ closes int }

func (s *fakeSocket) CloseUnserved() { s.closes++ }

// fakeSink records the methods of the notifications it hears.
type fakeSink struct {
	heard     []string
	forgotten int
}

func (s *fakeSink) Notify(n codec.Notification) { s.heard = append(s.heard, string(n.Method)) }
func (s *fakeSink) Forgotten()                  { s.forgotten++ }

// fakeFollower records what it is told.
type fakeFollower struct{ told []string }

func (f *fakeFollower) Snapshot(ids []string) {
	slices.Sort(ids)
	f.told = append(f.told, "snapshot "+strings.Join(ids, " "))
}
func (f *fakeFollower) Came(id string) { f.told = append(f.told, "came "+id) }
func (f *fakeFollower) Went(id string) { f.told = append(f.told, "went "+id) }

// take returns what was told since the last take.
func (f *fakeFollower) take() []string {
	told := f.told
	f.told = nil
	return told
}

// fakeClock keeps every timer ever made; tests fire them by hand, also stopped
// ones, as a timer that was firing already when it was stopped would.
type fakeClock struct {
	mu     sync.Mutex
	timers []*fakeTimer
}

type fakeTimer struct {
	delay   time.Duration
	fire    func()
	stopped bool
	fired   bool
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{delay: d, fire: f}
	c.timers = append(c.timers, t)
	return t
}

func (t *fakeTimer) Stop() bool {
	was := !t.stopped && !t.fired
	t.stopped = true
	return was
}

// world is one mux with one container on fakes, its first channel 100.
type world struct {
	t     *testing.T
	m     *Mux
	c     *Container
	clock *fakeClock
	now   time.Time
	sink  *fakeSink
}

// idle is how long a container of a world may do nothing.
const idle = time.Minute

// pass lets time pass, and sweeps.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.m.Sweep()
}

func begin(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, clock: &fakeClock{}, now: time.Unix(1_800_000_000, 0), sink: &fakeSink{}}
	config := Config{
		ReaskAfter:   time.Second,
		Clock:        w.clock,
		FirstChannel: func() uint32 { return 100 },
		NewSink:      func(string) Sink { return w.sink },
		Idle:         idle,
		Now:          func() time.Time { return w.now },
	}
	for _, f := range change {
		f(&config)
	}
	w.m = newMux(config, 64, 64)
	w.c = there(w.m.Container("one"))
	return w
}

func reaskAfter(d time.Duration) func(*Config) { return func(c *Config) { c.ReaskAfter = d } }

// exchange is an ask with its caller.
type exchange struct {
	*Ask
	caller *fakeCaller
}

func (w *world) ask(k codec.Kind, payload string) exchange {
	caller := &fakeCaller{}
	return exchange{taken(w.c.Ask(k, []byte(payload), caller)), caller}
}

func (w *world) connect() (*Claim, *fakeLine) {
	w.t.Helper()
	cl, err := w.m.Claim("one")
	if err != nil {
		w.t.Fatalf("claim: %v", err)
	}
	l := &fakeLine{}
	cl.Attach(l)
	return cl, l
}

func (w *world) open(f frame) *Path {
	w.t.Helper()
	p, err := w.m.Open("one", f.kind, f.channel, &fakeSocket{})
	if err != nil {
		w.t.Fatalf("open %v: %v", f, err)
	}
	return p
}

// answer answers a frame with a result that names its payload.
func (w *world) answer(f frame) {
	w.t.Helper()
	p := w.open(f)
	p.Arrived()
	p.Closed(resultFor(f.kind, f.payload))
}

// frames fails unless exactly these kinds and payloads were announced on l, in
// this order, and returns them as they were.
func (w *world) frames(l *fakeLine, want ...string) []frame {
	w.t.Helper()
	var got []string
	frames := l.all()
	for _, f := range frames {
		got = append(got, f.kind.Name()+" "+f.payload)
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("announced %q, want %q", got, want)
	}
	return frames
}

// settled fails unless e was settled once, so.
func (w *world) settled(e exchange, want Outcome) Settlement {
	w.t.Helper()
	if len(e.caller.log) != 1 {
		w.t.Fatalf("the caller was settled %d times, want once as %v", len(e.caller.log), want)
	}
	if got := e.caller.log[0].Outcome; got != want {
		w.t.Fatalf("settled as %v, want %v", got, want)
	}
	return e.caller.log[0]
}

func (w *world) unsettled(e exchange) {
	w.t.Helper()
	if len(e.caller.log) != 0 {
		w.t.Fatalf("the caller was settled as %v, want not at all", e.caller.log[0].Outcome)
	}
}

// unknown fails unless opening f is refused as an unknown channel.
func (w *world) unknown(f frame) {
	w.t.Helper()
	if _, err := w.m.Open("one", f.kind, f.channel, &fakeSocket{}); err != ErrUnknownChannel {
		w.t.Fatalf("open %v: %v, want %v", f, err, ErrUnknownChannel)
	}
}

var resultMembers = [...]string{
	codec.ListTools:     "tools",
	codec.ListResources: "resources",
	codec.CallTool:      "content",
	codec.ReadResource:  "contents",
}

// resultFor is a well-formed result frame of kind k that carries mark.
func resultFor(k codec.Kind, mark string) []byte {
	return codec.AppendResult(nil, []byte(`{"`+resultMembers[k]+`":[],"mark":"`+mark+`"}`))
}

func notificationFrame(method string) []byte {
	return codec.AppendResult(nil, []byte(`{"method":"`+method+`"}`))
}

var errorFrame = codec.AppendError(nil, []byte(`{"code":-32000,"message":"no"}`))

// there is a container that may not be refused.
func there(c *Container, err error) *Container {
	if err != nil {
		panic(err)
	}
	return c
}

// taken is an ask that may not be refused.
func taken(a *Ask, err error) *Ask {
	if err != nil {
		panic(err)
	}
	return a
}
