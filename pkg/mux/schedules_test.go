package mux

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/diverge-network/gateway/pkg/codec"
)

// The model check: random schedules of all events, applied to a mux and to the
// naive model, which must agree after every single one on everything that can be
// seen. Thousands of schedules (see TestMain) of some eighty events each.
func TestMuxAgreesWithTheNaiveModelUnderRandomSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSchedule(t)
		t.Repeat(map[string]func(*rapid.T){
			"":             s.compare,
			"ask":          s.ask,
			"ask more":     s.ask,
			"depart":       s.depart,
			"connect":      s.connect,
			"claim":        s.claim,
			"attach":       s.attach,
			"detach":       s.detach,
			"open":         s.open,
			"open more":    s.open,
			"open wrong":   s.openWrong,
			"arrive":       s.arrive,
			"close":        s.close,
			"break":        s.breakPath,
			"too big":      s.tooBig,
			"notification": s.notification,
			"timer":        s.timer,
			"break on":     s.breakOn,
			"come round":   s.comeRound,
			"enter":        s.enter,
			"exit":         s.exit,
			"exit all":     s.exitAll,
			"time passes":  s.pass,
			"sweep":        s.sweep,
			"stop":         s.stop,
		})
		s.windDown(t)
	})
}

type schedule struct {
	m          *Mux
	model      *model
	clock      *fakeClock
	follower   *fakeFollower
	sinks      []*fakeSink // in the order in which they were made
	first      uint32
	containers []*pair
	asks       []*pairAsk
	paths      []*pairPath // not over
	fired      map[int]bool
	marks      int
}

// pair is a container of an id, from its beginning to its end.
type pair struct {
	id      string
	real    *Container // nil: there is none
	wasBusy bool       // after the event before

	model  *modelContainer
	sink   *fakeSink
	claims []*Claim
	lines  []*fakeLine // per claim; nil until attached
}

type pairAsk struct {
	c      *pair
	real   *Ask
	model  *modelAsk
	caller *fakeCaller
}

type pairPath struct {
	real    *Path
	model   *modelPath
	socket  *fakeSocket
	message []byte
}

func newSchedule(t *rapid.T) *schedule {
	s := &schedule{clock: &fakeClock{}, follower: &fakeFollower{}, fired: map[int]bool{}}
	after := rapid.SampledFrom([]time.Duration{0, Never, time.Second}).Draw(t, "reask after")
	s.first = rapid.SampledFrom([]uint32{1, 1000, 4294967290, 4294967295}).Draw(t, "first channel")
	s.model = &model{reaskAfter: after, idle: rapid.SampledFrom([]time.Duration{0, idle}).Draw(t, "idle"), limits: drawLimits(t)}
	epoch := time.Unix(1_800_000_000, 0)
	s.m = newMux(Config{
		ReaskAfter:   after,
		Clock:        s.clock,
		FirstChannel: func() uint32 { return s.first },
		NewSink: func(string) Sink {
			s.sinks = append(s.sinks, &fakeSink{})
			return s.sinks[len(s.sinks)-1]
		},
		Idle: s.model.idle,
		Now:  func() time.Time { return epoch.Add(s.model.now) },

		Limits: s.model.limits,
	}, 64, 64)
	s.m.Follow(s.follower)
	s.follower.take()
	for i := range 2 {
		s.containers = append(s.containers, &pair{id: fmt.Sprint(i)})
	}
	return s
}

// begun takes note of a container that has begun with the event at hand.
func (s *schedule) begun(c *pair) {
	if c.real != nil {
		return
	}
	c.real = s.m.Lookup(c.id)
	c.model = &modelContainer{m: s.model, id: c.id, next: s.first, activeAt: s.model.now}
	c.sink = s.sinks[len(s.sinks)-1]
}

// pick reports false when there is nothing to pick from: the event then does not
// happen. (A skipped event would end the schedule early.)
func pick[E any](t *rapid.T, from []E, what string) (picked E, ok bool) {
	if len(from) == 0 {
		return picked, false
	}
	return rapid.SampledFrom(from).Draw(t, what), true
}

// container is one that is there.
func (s *schedule) container(t *rapid.T) *pair {
	c := s.id(t)
	there(s.m.Container(c.id))
	s.begun(c)
	return c
}

// id is one of which there may be no container.
func (s *schedule) id(t *rapid.T) *pair {
	return rapid.SampledFrom(s.containers).Draw(t, "container")
}

// seldom is true once in n times.
func seldom(t *rapid.T, n int) bool { return rapid.IntRange(1, n).Draw(t, "seldom") == 1 }

func (s *schedule) ask(t *rapid.T) {
	c := s.container(t)
	k := rapid.SampledFrom(answerKinds).Draw(t, "kind")
	s.marks++
	payload := fmt.Sprint("p", s.marks)
	caller := &fakeCaller{}
	want := c.model.over(s.containers)
	a, err := c.real.Ask(k, []byte(payload), caller)
	if got := limitOf(err); got != want {
		t.Fatalf("asked: %v, want the limit %q", err, want)
	}
	if err == nil {
		s.asks = append(s.asks, &pairAsk{c: c, model: c.model.ask(k, payload), real: a, caller: caller})
	}
}

func (s *schedule) depart(t *rapid.T) {
	a, ok := pick(t, s.asks[max(0, len(s.asks)-12):], "ask, from the last")
	if !ok {
		return
	}
	cancel := rapid.Bool().Draw(t, "cancel")
	do := a.real.Leave
	if cancel {
		do = a.real.Cancel
	}
	if got, want := do(), a.c.model.depart(a.model, cancel); got != want {
		t.Fatalf("departed %v, want %v", got, want)
	}
}

func (s *schedule) claim(t *rapid.T) {
	c := s.id(t)
	probes := 0
	if c.real != nil && c.model.live {
		probes = c.lines[c.model.holder-1].probes + 1
	}
	cl, err := s.m.Claim(c.id)
	s.begun(c)
	if free := c.model.claim(); free != (err == nil) {
		t.Fatalf("claim: %v, but free is %v", err, free)
	}
	if err == nil {
		c.claims = append(c.claims, cl)
		c.lines = append(c.lines, nil)
	} else if c.model.live && c.lines[c.model.holder-1].probes != probes {
		t.Fatal("the holder was not probed")
	}
}

func (s *schedule) attach(t *rapid.T) {
	c := s.container(t)
	if c.model.holder == 0 || c.model.live {
		return
	}
	s.attachTo(c)
}

func (s *schedule) attachTo(c *pair) {
	l := &fakeLine{}
	c.lines[c.model.holder-1] = l
	c.claims[c.model.holder-1].Attach(l)
	c.model.attach()
	l.Flush() // with the 101
}

// connect claims and attaches, so that connections are not rare.
func (s *schedule) connect(t *rapid.T) {
	c := s.container(t)
	if c.model.holder != 0 {
		return
	}
	cl, err := s.m.Claim(c.id)
	if err != nil {
		t.Fatal(err)
	}
	c.model.claim()
	c.claims, c.lines = append(c.claims, cl), append(c.lines, nil)
	s.attachTo(c)
}

func (s *schedule) detach(t *rapid.T) {
	c := s.container(t)
	if len(c.claims) == 0 {
		return
	}
	i := len(c.claims) - rapid.IntRange(1, min(2, len(c.claims))).Draw(t, "claim, from the last")
	c.claims[i].Detach()
	c.model.detach(i + 1)
}

// open opens the path of something that was announced, lately as a rule.
func (s *schedule) open(t *rapid.T) {
	c := s.container(t)
	var wire []frame
	for _, w := range c.model.wire {
		wire = append(wire, w...)
	}
	if f, ok := pick(t, wire[max(0, len(wire)-6):], "frame"); ok {
		s.openFrame(t, c, f.kind, f.channel)
	}
}

func (s *schedule) openWrong(t *rapid.T) {
	c := s.container(t)
	other := s.containers[0]
	if rapid.Bool().Draw(t, "frame of the second container") {
		other = s.containers[1]
	}
	if other.real == nil {
		other = c
	}
	channel := rapid.Uint32Range(0, 20).Draw(t, "channel")
	if n := len(other.model.wire); n > 0 {
		if f, ok := pick(t, other.model.wire[n-1], "frame"); ok {
			channel = f.channel
		}
	}
	k := codec.Kind(rapid.IntRange(0, codec.KindCount).Draw(t, "kind"))
	s.openFrame(t, c, k, channel)
}

func (s *schedule) enter(t *rapid.T) {
	c := s.id(t)
	entered := there(s.m.Enter(c.id))
	s.begun(c)
	if entered != c.real {
		t.Fatal("another container was entered")
	}
	c.model.enter()
}

func (s *schedule) exit(t *rapid.T) {
	if c := s.container(t); c.model.entered > 0 {
		c.real.Exit()
		c.model.exit()
	}
}

func (s *schedule) exitAll(*rapid.T) {
	for _, c := range s.containers {
		for c.real != nil && c.model.entered > 0 {
			c.real.Exit()
			c.model.exit()
		}
	}
}

func (s *schedule) pass(t *rapid.T) {
	s.model.now += rapid.SampledFrom([]time.Duration{1, idle / 2, idle - 1, idle, 3 * idle}).Draw(t, "time")
}

func (s *schedule) sweep(t *rapid.T) {
	s.m.Sweep()
	for i, c := range s.containers {
		if c.real == nil {
			continue
		}
		forgotten := c.model.sweep()
		if there := s.m.Lookup(c.id) == c.real; there == forgotten {
			t.Fatalf("container %s is there: %v", c.id, there)
		}
		if forgotten {
			s.compareContainer(t, c) // for the last time
			s.containers[i] = &pair{id: c.id}
		}
	}
}

func (s *schedule) openFrame(t *rapid.T, c *pair, k codec.Kind, channel uint32) {
	socket := &fakeSocket{}
	real, err := s.m.Open(c.id, k, channel, socket)
	path, want := c.model.open(k, channel)
	if err != want {
		t.Fatalf("open %v %d: %v, want %v", k, channel, err, want)
	}
	if err != nil {
		return
	}
	if real.Kind() != k || real.Cancelled() != path.cancelled {
		t.Fatalf("path of kind %v, cancelled %v, want %v, %v", real.Kind(), real.Cancelled(), k, path.cancelled)
	}
	s.paths = append(s.paths, &pairPath{real: real, model: path, socket: socket})
}

// timer fires a timer that has not fired, also one that was stopped: it may have
// been firing already.
func (s *schedule) timer(t *rapid.T) {
	var ready []int
	for i := range s.clock.timers {
		if !s.fired[i] {
			ready = append(ready, i)
		}
	}
	i, ok := pick(t, ready, "timer")
	if !ok {
		return
	}
	s.fire(i)
}

func (s *schedule) fire(timer int) {
	s.fired[timer], s.clock.timers[timer].fired = true, true
	s.clock.timers[timer].fire()
	s.model.fire(timer)
}

// comeRound puts the next channel where it would be after 2^32 more asks, just
// before channels that may still be in use.
func (s *schedule) comeRound(t *rapid.T) {
	c := s.container(t)
	if a, ok := pick(t, c.model.everyAsk(), "ask"); ok && a.channel != 0 {
		c.real.mu.Lock()
		c.real.nextChannel = a.channel
		c.real.mu.Unlock()
		c.model.next = a.channel
	}
}

func (s *schedule) stop(t *rapid.T) {
	if !seldom(t, 60) {
		return
	}
	s.m.Stop()
	s.model.stopped = true
	for _, c := range s.containers {
		if c.real != nil {
			c.model.stop()
		}
	}
}
