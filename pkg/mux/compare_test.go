package mux

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/diverge-network/gateway/pkg/codec"
)

// compare fails unless mux and model agree on everything that can be seen, and
// the mux's own structure is sound.
func (s *schedule) compare(t *rapid.T) {
	var containers []*modelContainer
	channels := 0
	for _, c := range s.containers {
		if c.real == nil {
			continue
		}
		containers = append(containers, c.model)
		channels += s.compareContainer(t, c)
		if c.wasBusy || c.model.busy() {
			c.model.activeAt = s.model.now
		}
		c.wasBusy = c.model.busy()
	}
	s.comparePresence(t)
	if got, want := s.m.Stats(), s.model.gauges(containers); got != want {
		t.Fatalf("stats\n%+v, want\n%+v", got, want)
	}
	if got := s.m.channels.rows.Size(); got != channels {
		t.Fatalf("%d channels in the table, %d in use", got, channels)
	}
	s.compareAsks(t)
	s.compareTimers(t)
	for _, p := range s.paths {
		if p.socket.closes != p.model.closes {
			t.Fatalf("the path of channel %d was closed %d times, want %d", p.model.ask.channel, p.socket.closes, p.model.closes)
		}
	}
}

// compareContainer returns how many channels the container has in use.
func (s *schedule) compareContainer(t *rapid.T, c *pair) (channels int) {
	for i, l := range c.lines {
		if l == nil {
			continue
		}
		if !slices.Equal(l.frames, c.model.wire[i]) {
			t.Fatalf("connection %d of %s heard\n%v, want\n%v", i+1, c.real.id, l.frames, c.model.wire[i])
		}
		if l.flushed != len(l.frames) {
			t.Fatalf("connection %d of %s: %d of %d frames flushed", i+1, c.real.id, l.flushed, len(l.frames))
		}
	}
	if c.sink.forgotten != c.model.sunk {
		t.Fatalf("the sink of %s was told %d times that it is forgotten", c.id, c.sink.forgotten)
	}
	if !slices.Equal(c.sink.heard, c.model.heard) {
		t.Fatalf("heard %v, want %v", c.sink.heard, c.model.heard)
	}

	inUse, resident := map[uint32]bool{}, 0
	for _, a := range c.model.everyAsk() {
		if a.state != "announced" && a.state != "open" {
			continue
		}
		if inUse[a.channel] {
			t.Fatalf("channel %d is used twice", a.channel)
		}
		inUse[a.channel] = true
		if a.kind == codec.Notifications {
			resident++
		}
		row := s.m.channels.find(c.real.serial, a.channel)
		if row == nil || row.kind != a.kind || string(row.payload) != a.payload && a.there {
			t.Fatalf("channel %d is not in the table as it was announced", a.channel)
		}
	}
	if resident > 1 {
		t.Fatalf("%d notifications asks at once", resident)
	}

	var want []*Ask
	for _, a := range s.asks {
		if a.c == c && a.model.state != "done" {
			want = append(want, a.real)
		}
	}
	if got := slices.Collect(c.real.asks.all); !slices.Equal(got, want) {
		t.Fatalf("%d asks are kept, or in another order, want %d", len(got), len(want))
	}
	return len(inUse)
}

// comparePresence leaves open in which order one sweep reports.
func (s *schedule) comparePresence(t *rapid.T) {
	told, want := s.follower.take(), s.model.told
	s.model.told = nil
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) {
		t.Fatalf("the follower was told %q, want %q", told, want)
	}
	var present []string
	for _, c := range s.containers {
		if c.real != nil && c.model.present {
			present = append(present, c.id)
		}
	}
	late := &fakeFollower{}
	s.m.Follow(late)()
	if got, want := late.take()[0], "snapshot "+strings.Join(present, " "); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func (s *schedule) compareAsks(t *rapid.T) {
	for _, a := range s.asks {
		var outcomes []Outcome
		var marks []string
		for _, got := range a.caller.log {
			mark := ""
			if got.Outcome == Answered {
				mark = string(got.Answer.Body)
			}
			outcomes, marks = append(outcomes, got.Outcome), append(marks, mark)
			if (got.Err != nil) != (got.Outcome == Unreadable) || (got.Limit != 0) != (got.Outcome == TooBig) {
				t.Fatalf("settlement %+v", got)
			}
		}
		if !slices.Equal(outcomes, a.model.settled) || !slices.Equal(marks, a.model.marks) {
			t.Fatalf("ask %s settled as %v %q, want %v %q", a.model.payload, outcomes, marks, a.model.settled, a.model.marks)
		}
		if len(outcomes) > 1 {
			t.Fatalf("ask %s was settled %d times", a.model.payload, len(outcomes))
		}
	}
}

// compareTimers also proves that no timer outlives its use.
func (s *schedule) compareTimers(t *rapid.T) {
	if len(s.clock.timers) != len(s.model.timers) {
		t.Fatalf("%d timers were armed, want %d", len(s.clock.timers), len(s.model.timers))
	}
	for i, timer := range s.clock.timers {
		want := s.model.timers[i]
		if timer.delay != want.delay {
			t.Fatalf("timer %d is of %v, want %v", i, timer.delay, want.delay)
		}
		if running := !timer.stopped && !timer.fired; running != (want.ask.timer == i) {
			t.Fatalf("timer %d runs: %v, want %v", i, running, !running)
		}
	}
}
