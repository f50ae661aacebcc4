package mux

import (
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// drainer is a socket that knows what the test says.
type drainer struct {
	fakeSocket
	drained bool
	asked   func()
}

func (d *drainer) Drained() bool {
	if d.asked != nil {
		d.asked()
	}
	return d.drained
}

func (w *world) openOn(f frame, s Socket) *Path {
	w.t.Helper()
	p, err := w.m.Open("one", f.kind, f.channel, s)
	if err != nil {
		w.t.Fatalf("open %v: %v", f, err)
	}
	return p
}

func (w *world) drained(want bool, when string) {
	w.t.Helper()
	if got := w.c.Drained(); got != want {
		w.t.Fatalf("drained %v %s, want %v", got, when, want)
	}
}

func TestDrainedIsWhatTheOpenPathsSocketSays(t *testing.T) {
	w := begin(t)
	w.drained(true, "of a container without an ask")
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	w.drained(true, "of a container whose path is awaited")
	call := &drainer{}
	w.openOn(l.all()[0], call)
	w.drained(true, "of a container of which only a call's path is open")

	s := &drainer{}
	s.asked = func() { w.ask(codec.CallTool, "no lock is held") }
	p := w.openOn(l.all()[1], s)
	w.drained(false, "with an open path that is not")
	s.drained = true
	w.drained(true, "with an open path that is")
	s.drained = false
	p.Notification(notificationFrame(listChanged))
	w.drained(false, "with an open path that is not")
	p.Closed(nil)
	w.drained(true, "once the path has ended")
}

func TestDrainedIsFalseWhereTheSocketCannotTell(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	w.openOn(l.all()[1], &fakeSocket{})
	w.drained(false, "with a socket that cannot tell")
}

func TestDrainedIsTrueAfterTheLastMessageAndAfterStop(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.openOn(l.all()[1], &drainer{})
	w.drained(false, "with an open path that is not")
	p.Notification(errorFrame)
	w.drained(true, "after a message that was the last (protocol N3)")
	p.Closed(nil)
	cl.Detach()
	_, l = w.connect()
	w.openOn(l.all()[0], &drainer{})
	w.drained(false, "with an open path that is not")
	w.m.Stop()
	w.drained(true, "of a mux that is stopped")
}
