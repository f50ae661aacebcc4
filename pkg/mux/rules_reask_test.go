package mux

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// realTime gives a world the time of package time, which synctest fakes.
func realTime(c *Config) { c.Clock = nil }

func TestA5_BrokenPathIsAskedAgainOnTheNextConnection(t *testing.T) {
	w := begin(t, reaskAfter(Never))
	cl, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	broken := l.all()[0]
	w.open(broken).Broke()
	w.frames(l, "call-tool a", "notifications ")
	w.unknown(broken)
	cl.Detach()
	_, l = w.connect()
	w.unsettled(e)
	again := w.frames(l, "notifications ", "call-tool a")[1]
	if again.channel == broken.channel {
		t.Fatal("the channel is not fresh")
	}
	w.answer(again)
	w.settled(e, Answered)
}

func TestA5_NextIsCountedFromTheMomentOfTheEnd(t *testing.T) {
	w := begin(t, reaskAfter(Never))
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	cl.Detach()
	second, l := w.connect() // up before the end: not the next one
	p.Broke()
	w.frames(l, "notifications ")
	second.Detach()
	_, l = w.connect()
	w.frames(l, "notifications ", "call-tool a")
}

func TestA5_EndBetweenClaimAndAttachIsAskedAgainOnThatConnection(t *testing.T) {
	w := begin(t, reaskAfter(Never))
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	cl.Detach()
	cl, _ = w.m.Claim("one")
	p.Broke()
	l = &fakeLine{}
	cl.Attach(l)
	w.frames(l, "notifications ", "call-tool a")
}

func TestA5_UpgradeThatNeverCompletesCountsAsAnAbruptEnd(t *testing.T) {
	w := begin(t, reaskAfter(0))
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	w.open(l.all()[0]).Broke() // nothing was ever sent on it
	w.frames(l, "call-tool a", "notifications ", "call-tool a")
}

func TestA5_AskedAgainOnTheSameConnectionAfterReaskAfterDoublingThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, realTime)
		cl, l := w.connect()
		e := w.ask(codec.CallTool, "a")
		next, announced := l.all()[0], 2
		for _, after := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			w.open(next).Broke()
			elapse(after - 1)
			if len(l.all()) != announced {
				t.Fatalf("asked again before %v", after)
			}
			elapse(1)
			announced++
			if len(l.all()) != announced || l.sent() != announced {
				t.Fatalf("after %v: %d frames, %d flushed, want %d", after, len(l.all()), l.sent(), announced)
			}
			next = l.all()[announced-1]
		}
		w.open(next).Broke()
		elapse(24 * time.Hour)
		w.frames(l, "call-tool a", "notifications ", "call-tool a", "call-tool a", "call-tool a")
		w.unsettled(e)

		cl.Detach()
		_, l = w.connect() // where it counts anew
		again := w.frames(l, "notifications ", "call-tool a")[1]
		w.open(again).Broke()
		elapse(time.Second)
		w.frames(l, "notifications ", "call-tool a", "call-tool a")
		w.answer(l.all()[2])
		w.settled(e, Answered)
		if n := w.m.Stats().Reasked[ReasonBroke]; n != 5 {
			t.Fatalf("asked again %d times, want 5", n)
		}
	})
}

// elapse lets d pass in a synctest bubble: nothing in it is runnable meanwhile.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestA5_ZeroAsksAgainAtOnceThreeTimes(t *testing.T) {
	w := begin(t, reaskAfter(0))
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	next := l.all()[0]
	for range 4 {
		w.open(next).Broke()
		next = l.all()[len(l.all())-1]
	}
	w.frames(l, "call-tool a", "notifications ", "call-tool a", "call-tool a", "call-tool a")
	if l.sent() != 5 || len(w.clock.timers) != 0 {
		t.Fatalf("%d frames flushed, %d timers", l.sent(), len(w.clock.timers))
	}
}

func TestA5_NeverWaitsForTheNextConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, realTime, reaskAfter(Never))
		_, l := w.connect()
		w.ask(codec.CallTool, "a")
		w.open(l.all()[0]).Broke()
		elapse(1000 * time.Hour)
		w.frames(l, "call-tool a", "notifications ")
	})
}

func TestA5_TimerOfAConnectionThatEndedDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, realTime)
		cl, l := w.connect()
		w.ask(codec.CallTool, "a")
		w.open(l.all()[0]).Broke()
		elapse(time.Second / 2)
		cl.Detach()
		_, second := w.connect()
		w.frames(second, "notifications ", "call-tool a")
		elapse(time.Hour)
		w.frames(l, "call-tool a", "notifications ")
		w.frames(second, "notifications ", "call-tool a")
	})
}

func TestA5_TimerThatCouldNotBeStoppedFindsAnotherGenerationOrConnection(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	w.open(l.all()[0]).Broke()
	late := w.clock.timers[0]

	cl.Detach()
	late.fire() // no connection
	_, l = w.connect()
	late.fire() // announced
	w.frames(l, "notifications ", "call-tool a")
	p := w.open(l.all()[1])
	late.fire() // open
	p.Broke()
	late.fire() // parked again, under another timer
	w.frames(l, "notifications ", "call-tool a")
	w.clock.timers[1].fire()
	w.frames(l, "notifications ", "call-tool a", "call-tool a")
	w.answer(l.all()[2])
	late.fire() // done
	w.settled(e, Answered)
	w.frames(l, "notifications ", "call-tool a", "call-tool a")
}

func TestA5_DelayNeverOverflows(t *testing.T) {
	for times := range uint8(maxReasks) {
		if d := doubled(math.MaxInt64-1, times); d <= 0 {
			t.Fatalf("doubled %d times: %v", times, d)
		}
	}
	if d := doubled(time.Second, 2); d != 4*time.Second {
		t.Fatalf("doubled twice: %v", d)
	}
}
