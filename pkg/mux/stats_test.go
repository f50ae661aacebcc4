package mux

import (
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestEveryOutcomeReasonAndStateHasAName(t *testing.T) {
	seen := map[string]bool{}
	unique := func(name string) {
		if name == "" || seen[name] {
			t.Errorf("the name %q is empty or given twice", name)
		}
		seen[name] = true
	}
	for o := range Outcome(OutcomeCount) {
		unique(o.String())
	}
	for r := range Reason(ReasonCount) {
		unique(r.String())
	}
	for s := range stateCount {
		unique(s.String())
	}
}

func TestStatsFollowAnAskThroughItsLife(t *testing.T) {
	w := begin(t)
	want := func(step string, waiting, announced, open, connected int64) {
		t.Helper()
		s := w.m.Stats()
		if s.Waiting != waiting || s.Announced != announced || s.Open != open || s.Connected != connected {
			t.Fatalf("%s: %+v", step, s)
		}
	}
	w.ask(codec.CallTool, "a")
	want("asked", 1, 0, 0, 0)
	cl, l := w.connect()
	want("connected", 0, 1, 0, 1)
	p := w.open(l.all()[0])
	want("opened", 0, 0, 1, 1)
	p.Broke()
	want("broken", 1, 0, 0, 1)
	w.clock.timers[0].fire()
	want("asked again", 0, 1, 0, 1)
	cl.Detach()
	want("lost", 1, 0, 0, 0)
	_, l = w.connect()
	w.answer(l.all()[1])
	want("answered", 0, 0, 0, 1)
	s := w.m.Stats()
	if s.Settled[codec.CallTool][Answered] != 1 || s.Reasked != [ReasonCount]int64{1 + 1, 1, 0} {
		t.Fatalf("stats %+v", s)
	}
}
