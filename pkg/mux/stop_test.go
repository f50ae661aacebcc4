package mux

import (
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestStop_SettlesEveryAskAndLeavesNoTimer(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	open, announced, broken, left := w.ask(codec.CallTool, "a"), w.ask(codec.CallTool, "b"), w.ask(codec.CallTool, "c"), w.ask(codec.CallTool, "d")
	p := w.open(l.all()[0])
	resident := w.open(l.all()[1])
	w.open(l.all()[3]).Broke()
	left.Leave()
	before := len(l.all())

	w.m.Stop()
	w.m.Stop()
	for _, e := range []exchange{open, announced, broken} {
		if !w.settled(e, Stopped).Announced {
			t.Error("an ask that a server heard of was settled as one that none did")
		}
		if e.Leave() {
			t.Fatal("Leave after Stop: true, but Settle was called")
		}
	}
	w.unsettled(left)
	for _, timer := range w.clock.timers {
		if !timer.stopped {
			t.Fatal("a timer is left behind")
		}
		timer.fire()
	}
	for _, f := range l.all() {
		w.unknown(f)
	}

	late := w.ask(codec.CallTool, "e")
	if w.settled(late, Stopped).Announced {
		t.Error("an ask that no server heard of was settled as one that a server did")
	}
	p.Arrived()
	p.Closed(resultFor(codec.CallTool, "a"))
	w.settled(open, Stopped)
	resident.Notification(notificationFrame("notifications/tools/list_changed"))
	resident.Broke()
	if len(w.sink.heard) != 0 {
		t.Fatalf("heard %v after Stop", w.sink.heard)
	}
	cl.Detach()
	_, again := w.connect()
	w.frames(again)
	if len(l.all()) != before {
		t.Fatalf("announced after Stop: %v", l.all()[before:])
	}
	s := w.m.Stats()
	if s.Waiting+s.Announced+s.Open+s.Resident.Waiting+s.Resident.Announced+s.Resident.Open != 0 {
		t.Fatalf("stats %+v: asks are left", s)
	}
}

func TestIllegalCallsPanicInTestsAndAreCountedOtherwise(t *testing.T) {
	calls := map[string]func(*world){
		"attach twice":         func(w *world) { cl, _ := w.connect(); cl.Attach(&fakeLine{}) },
		"attach when detached": func(w *world) { cl, _ := w.connect(); cl.Detach(); cl.Attach(&fakeLine{}) },
		"ask notifications":    func(w *world) { w.ask(codec.Notifications, "") },
		"ask an unknown kind":  func(w *world) { w.ask(17, "") },
		"end a path twice": func(w *world) {
			_, l := w.connect()
			w.ask(codec.CallTool, "a")
			p := w.open(l.all()[0])
			p.Broke()
			p.Closed(nil)
		},
		"message on notifications": func(w *world) {
			_, l := w.connect()
			w.ask(codec.CallTool, "a")
			w.open(l.all()[1]).Arrived()
		},
		"notification on an answer": func(w *world) {
			_, l := w.connect()
			w.ask(codec.CallTool, "a")
			w.open(l.all()[0]).Notification(nil)
		},
		"open while waiting": func(w *world) {
			e := w.ask(codec.CallTool, "a")
			w.c.mu.Lock()
			defer w.c.mu.Unlock()
			e.openLocked(&Path{ask: e.Ask})
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			if !panics(func() { call(begin(t)) }) {
				t.Error("no panic under strict")
			}
			strict = false
			defer func() { strict = true }()
			w := begin(t)
			call(w)
			if n := w.m.Stats().Illegal; n != 1 {
				t.Errorf("counted %d times, want once", n)
			}
		})
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
