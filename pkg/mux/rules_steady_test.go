package mux

import (
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// breaking is a world whose notifications path breaks again and again on one
// connection.
type breaking struct {
	*world
	claim *Claim
	line  *fakeLine
}

func newBreaking(t *testing.T) *breaking {
	w := &breaking{world: begin(t)}
	w.claim, w.line = w.connect()
	w.ask(codec.CallTool, "a")
	return w
}

// newest is the resident ask's last announcement on the connection.
func (w *breaking) newest() frame {
	frames := w.line.all()
	return frames[len(frames)-1]
}

// breaks opens the path that was asked for last, has it break after so long,
// and returns after how long it will be asked for again: 0 is never.
func (w *breaking) breaks(open time.Duration) (again time.Duration) {
	w.t.Helper()
	p, armed := w.open(w.newest()), len(w.clock.timers)
	w.now = w.now.Add(open)
	p.Broke()
	if len(w.clock.timers) == armed {
		return 0
	}
	timer := w.clock.timers[armed]
	w.now = w.now.Add(timer.delay)
	timer.fired = true
	timer.fire()
	return timer.delay
}

func (w *breaking) expect(open time.Duration, again ...time.Duration) {
	w.t.Helper()
	for i, want := range again {
		if got := w.breaks(open); got != want {
			w.t.Fatalf("end %d of paths open for %v: asked for again after %v, want %v", i+1, open, got, want)
		}
	}
}

func TestN4_AnEndOfAPathThatWasOpenForAWhileCountsAsTheFirst(t *testing.T) {
	w := newBreaking(t)
	for range 10 {
		w.expect(steady, time.Second)
	}
	w.expect(0, 2*time.Second, 4*time.Second)
	w.expect(time.Hour, time.Second)
	w.expect(steady-1, 2*time.Second, 4*time.Second, 0)
	if s := w.m.Stats(); s.Reasked[ReasonBroke] != 15 || s.Resident.Waiting != 1 {
		t.Fatalf("stats %+v", s)
	}
}

func TestN4_PathsThatBreakSoonAreAskedForThreeTimesMoreHoweverFarApart(t *testing.T) {
	w := newBreaking(t)
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 0} {
		w.now = w.now.Add(time.Hour) // which the channel waits to be opened
		if got := w.breaks(time.Second); got != want {
			t.Fatalf("end %d: asked for again after %v, want %v", i+1, got, want)
		}
	}
	w.claim.Detach()
	_, l := w.connect()
	w.frames(l, "notifications ", "call-tool a")
}

func TestN4_APathThatWasOpenSinceAnEarlierConnectionCountsTheSame(t *testing.T) {
	w := newBreaking(t)
	p := w.open(w.newest())
	w.now = w.now.Add(steady)
	w.claim.Detach()
	w.claim, w.line = w.connect()
	p.Broke()
	timer := w.clock.timers[0]
	if timer.delay != time.Second {
		t.Fatalf("asked for again after %v, want a second", timer.delay)
	}
	timer.fire()
	w.expect(0, 2*time.Second, 4*time.Second, 0)
}

func TestA5_HowLongACallsPathWasOpenChangesNothing(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	ask := l.all()[0]
	for i := range maxReasks {
		p := w.open(ask)
		w.now = w.now.Add(time.Hour)
		p.Broke()
		w.clock.timers[i].fire()
		frames := l.all()
		ask = frames[len(frames)-1]
	}
	w.open(ask).Broke()
	if n := len(w.clock.timers); n != maxReasks {
		t.Fatalf("asked again %d times, want %d", n, maxReasks)
	}
}
