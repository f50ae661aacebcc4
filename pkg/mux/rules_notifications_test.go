package mux

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

const listChanged = "notifications/tools/list_changed"

func TestN1_AskedRightAfterTheFirstAskAndBeforeFurtherWaitingOnes(t *testing.T) {
	w := begin(t)
	w.ask(codec.CallTool, "a")
	w.ask(codec.CallTool, "b")
	_, l := w.connect()
	w.frames(l, "call-tool a", "notifications ", "call-tool b")
	w.ask(codec.CallTool, "c")
	w.frames(l, "call-tool a", "notifications ", "call-tool b", "call-tool c")
}

func TestN1_NotAskedBeforeTheFirstAsk(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	w.frames(l)
	cl.Detach()
	_, l = w.connect()
	w.frames(l)
	w.ask(codec.ListTools, "null")
	w.frames(l, "list-tools null", "notifications ")
	if l.sent() != 2 {
		t.Fatalf("%d frames flushed, want 2", l.sent())
	}
}

func TestN1_AnnouncedFirstOnEveryLaterConnection(t *testing.T) {
	w := begin(t)
	w.ask(codec.CallTool, "a")
	cl, _ := w.connect()
	for range 3 {
		cl.Detach()
		var l *fakeLine
		cl, l = w.connect()
		w.frames(l, "notifications ", "call-tool a")
	}
}

func TestN1_WithdrawnAskWasNotMade(t *testing.T) {
	w := begin(t)
	w.ask(codec.CallTool, "a").Leave()
	cl, l := w.connect()
	w.frames(l)
	cl.Detach()
	w.ask(codec.CallTool, "b").Cancel()
	w.ask(codec.CallTool, "c")
	_, l = w.connect()
	w.frames(l, "call-tool c", "notifications ")
}

func TestN2_ExactlyOneIsKeptAndLivesOnWhileItsPathIsOpen(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.open(l.all()[1])
	for range 3 {
		cl.Detach()
		cl, l = w.connect()
		w.frames(l, "call-tool a")
	}
	p.Notification(notificationFrame(listChanged))
	if !slices.Equal(w.sink.heard, []string{listChanged}) {
		t.Fatalf("heard %v", w.sink.heard)
	}
	if s := w.m.Stats().Resident; s != (ResidentStats{Open: 1}) {
		t.Fatalf("resident asks %+v, want one open", s)
	}
}

func TestN3_ErrorMessageEndsThePathAndWhatFollowsChangesNothing(t *testing.T) {
	ends := map[string]func(*Path){
		"clean close": func(p *Path) { p.Closed(nil) },
		"reset":       (*Path).Broke,
		"too big":     func(p *Path) { p.TooBig(1) },
		"more messages": func(p *Path) {
			if !p.Notification(notificationFrame(listChanged)) {
				panic("a message after the last is not after the last")
			}
			p.Notification(errorFrame)
			p.Broke()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := begin(t, reaskAfter(0))
			cl, l := w.connect()
			w.ask(codec.CallTool, "a")
			p := w.open(l.all()[1])
			if p.Notification(notificationFrame(listChanged)) {
				t.Fatal("a notification was taken for the last message")
			}
			if !p.Notification(errorFrame) {
				t.Fatal("an error is not the last message")
			}
			w.unknown(l.all()[1])
			end(p)
			w.frames(l, "call-tool a", "notifications ")
			if !slices.Equal(w.sink.heard, []string{listChanged}) {
				t.Fatalf("heard %v", w.sink.heard)
			}
			cl.Detach()
			_, l = w.connect()
			w.frames(l, "notifications ", "call-tool a")
			if s := w.m.Stats(); s.ErrorEnds != 1 || s.Reasked[ReasonEnded] != 1 {
				t.Fatalf("stats %+v", s)
			}
		})
	}
}

func TestN3_EndOfAFinishedPathDoesNotTouchTheNextOne(t *testing.T) {
	w := begin(t, reaskAfter(0))
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	old := w.open(l.all()[1])
	old.Notification(errorFrame)
	cl.Detach()
	_, l = w.connect()
	fresh := w.open(l.all()[0])
	old.Broke()
	fresh.Notification(notificationFrame(listChanged))
	if len(w.sink.heard) != 1 {
		t.Fatal("the new path was ended by the old one")
	}
}

func TestN4_CleanEndIsAskedForAgainOnTheNextConnectionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, realTime)
		cl, l := w.connect()
		w.ask(codec.CallTool, "a")
		w.open(l.all()[1]).Closed(nil)
		elapse(time.Hour)
		w.ask(codec.CallTool, "b")
		w.frames(l, "call-tool a", "notifications ", "call-tool b")
		w.unknown(l.all()[1])
		cl.Detach()
		_, l = w.connect()
		w.frames(l, "notifications ", "call-tool a", "call-tool b")
	})
}

func TestN4_CleanEndWithoutAConnectionIsAskedForAgainOnTheNext(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.open(l.all()[1])
	cl.Detach()
	p.Closed(nil)
	_, l = w.connect()
	w.frames(l, "notifications ", "call-tool a")
}

func TestN4_AbruptEndFollowsA5(t *testing.T) {
	for name, end := range map[string]func(*Path){
		"broke":   (*Path).Broke,
		"too big": func(p *Path) { p.TooBig(1 << 20) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := begin(t, realTime)
				_, l := w.connect()
				w.ask(codec.CallTool, "a")
				end(w.open(l.all()[1]))
				elapse(time.Second - 1)
				w.frames(l, "call-tool a", "notifications ")
				elapse(1)
				w.frames(l, "call-tool a", "notifications ", "notifications ")
				end(w.open(l.all()[2]))
				elapse(2 * time.Second)
				end(w.open(l.all()[3]))
				elapse(4 * time.Second)
				end(w.open(l.all()[4]))
				elapse(time.Hour)
				w.frames(l, "call-tool a", "notifications ", "notifications ", "notifications ", "notifications ")
			})
		})
	}
}

func TestN4_ConnectionThatEndsBeforeThePathOpened(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	lost := l.all()[1]
	cl.Detach()
	_, l = w.connect()
	w.unknown(lost)
	w.open(w.frames(l, "notifications ", "call-tool a")[0])
}

func TestN5_NothingIsReplayed(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.open(l.all()[1])
	p.Notification(errorFrame)
	p.Notification(notificationFrame("notifications/missed"))
	cl.Detach()
	_, l = w.connect()
	w.open(l.all()[0]).Notification(notificationFrame("notifications/heard"))
	if !slices.Equal(w.sink.heard, []string{"notifications/heard"}) {
		t.Fatalf("heard %v", w.sink.heard)
	}
}

func TestN6_UndecodableMessageIsDroppedAndTheStreamGoesOn(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.open(l.all()[1])
	for _, bad := range [][]byte{{}, {0}, {0, '{'}, {7, '{', '}'}, codec.AppendResult(nil, []byte(`{"method":7}`))} {
		if p.Notification(bad) {
			t.Fatalf("%q was taken for the last message", bad)
		}
	}
	p.Notification(notificationFrame(listChanged))
	if !slices.Equal(w.sink.heard, []string{listChanged}) {
		t.Fatalf("heard %v", w.sink.heard)
	}
	if s := w.m.Stats(); s.Undecodable != 5 || s.Notifications != 1 {
		t.Fatalf("stats %+v", s)
	}
}

func TestN6_AnyMessageWhoseFirstByteIs1IsTheLast(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	if !w.open(l.all()[1]).Notification([]byte{1, '{'}) {
		t.Fatal("not the last")
	}
	w.unknown(l.all()[1])
	if s := w.m.Stats(); s.Undecodable != 1 || s.ErrorEnds != 1 {
		t.Fatalf("stats %+v", s)
	}
}

func TestN7_NotificationsAreHeardInOrder(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	p := w.open(l.all()[1])
	want := []string{"notifications/a", "notifications/b", "notifications/c", "notifications/a"}
	for _, method := range want {
		p.Notification(notificationFrame(method))
	}
	if !slices.Equal(w.sink.heard, want) {
		t.Fatalf("heard %v, want %v", w.sink.heard, want)
	}
}

func TestNotificationsOfAContainerWithoutASinkAreCountedAsUnheard(t *testing.T) {
	w := begin(t, func(c *Config) { c.NewSink = nil })
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	w.open(l.all()[1]).Notification(notificationFrame(listChanged))
	if s := w.m.Stats(); s.Unheard != 1 || s.Notifications != 0 {
		t.Fatalf("stats %+v", s)
	}
}
