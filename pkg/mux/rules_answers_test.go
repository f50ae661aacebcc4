package mux

import (
	"errors"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

var answerKinds = []codec.Kind{codec.ListTools, codec.ListResources, codec.CallTool, codec.ReadResource}

func TestA1_PathOpensOnceForItsOwnKindAndChannel(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	f := l.all()[0]
	w.unknown(frame{channel: f.channel, kind: codec.ListTools})
	w.unknown(frame{channel: f.channel, kind: codec.Notifications})
	w.unknown(frame{channel: f.channel + 100, kind: codec.CallTool})
	w.unknown(frame{channel: 0, kind: codec.CallTool})
	if _, err := w.m.Open("nobody", f.kind, f.channel, &fakeSocket{}); err != ErrUnknownChannel {
		t.Fatalf("a container that never began: %v", err)
	}
	p := w.open(f)
	if p.Kind() != codec.CallTool {
		t.Fatalf("kind %v", p.Kind())
	}
	if _, err := w.m.Open("one", f.kind, f.channel, &fakeSocket{}); err != ErrPathOpen {
		t.Fatalf("a second path: %v, want %v", err, ErrPathOpen)
	}
	w.unknown(frame{channel: f.channel, kind: codec.ListTools}) // of another kind, though open
	p.Arrived()
	p.Closed(resultFor(f.kind, "a"))
	w.unknown(f) // finished
}

func TestA1_UnknownChannelIsRefusedWithoutALock(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.ask(codec.CallTool, "a")
	w.answer(l.all()[0])

	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.m.beginning.Lock()
	defer w.m.beginning.Unlock()
	// In this goroutine: an Open that took either lock would never return.
	w.unknown(l.all()[0])
	w.unknown(frame{channel: l.all()[1].channel, kind: codec.CallTool})
	w.unknown(frame{channel: 7, kind: codec.CallTool})
	if _, err := w.m.Open("nobody", codec.CallTool, 7, &fakeSocket{}); err != ErrUnknownChannel {
		t.Fatalf("a container that never began: %v", err)
	}
}

func TestA1_ChannelThatIsLostBetweenLookUpAndLockIsUnknown(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	found := w.ask(codec.CallTool, "a").Ask
	old := l.all()[0].channel
	cl.Detach()
	_, l = w.connect()
	fresh := l.all()[1].channel
	if _, err := found.open(old, &fakeSocket{}); err != ErrUnknownChannel {
		t.Fatalf("the old channel of an ask that was asked again: %v", err)
	}
	w.answer(l.all()[1])
	if _, err := found.open(fresh, &fakeSocket{}); err != ErrUnknownChannel {
		t.Fatalf("the channel of an ask that was answered: %v", err)
	}
}

func TestA4_TheFrameOfAnAnswerIsLentToTheCaller(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	p.Arrived()
	frame := codec.GetFrame(0)
	frame.B = codec.AppendResult(frame.B, []byte(`{"content":[]}`))
	p.ClosedWith(frame)
	if s := w.settled(e, Answered); s.Frame != frame || string(s.Answer.Body) != string(frame.B[1:]) {
		t.Errorf("lent is %p, the answer is %q", s.Frame, s.Answer.Body)
	}
	frame.Release()
}

func TestA4_CallerIsToldOnlyOnceTheMessageArrivedAndThePathClosedCleanly(t *testing.T) {
	for _, kind := range answerKinds {
		w := begin(t)
		_, l := w.connect()
		e := w.ask(kind, "a")
		p := w.open(l.all()[0])
		if !p.Arrived() {
			t.Fatal("the first message is not the first")
		}
		w.unsettled(e)
		message := resultFor(kind, "a")
		p.Closed(message)
		s := w.settled(e, Answered)
		if s.Answer.Tag != codec.TagResult || string(s.Answer.Body) != string(message[1:]) {
			t.Fatalf("%v: answer %d %q, want 0 %q", kind, s.Answer.Tag, s.Answer.Body, message[1:])
		}
	}
}

func TestA4_AnErrorIsAnAnswer(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	p.Arrived()
	p.Closed(errorFrame)
	if s := w.settled(e, Answered); s.Answer.Tag != codec.TagError || string(s.Answer.Body) != string(errorFrame[1:]) {
		t.Fatalf("answer %d %q", s.Answer.Tag, s.Answer.Body)
	}
}

func TestA4_MessageThenAbruptEndIsDiscardedAndAskedAgain(t *testing.T) {
	w := begin(t, reaskAfter(0))
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	p.Arrived()
	p.Broke()
	w.unsettled(e)
	f := w.frames(l, "call-tool a", "notifications ", "call-tool a")
	w.unknown(f[0])
	if s := w.m.Stats(); s.DiscardedMessages != 1 || s.Reasked[ReasonBroke] != 1 {
		t.Fatalf("stats %+v", s)
	}
	w.answer(f[2])
	w.settled(e, Answered)
}

func TestA6_CleanCloseWithoutAMessageIsNotServed(t *testing.T) {
	w := begin(t, reaskAfter(0))
	cl, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	w.open(l.all()[0]).Closed(nil)
	w.settled(e, NotServed)
	w.unknown(l.all()[0])
	cl.Detach()
	_, l = w.connect()
	w.frames(l, "notifications ")
}

func TestA7_UndecodableAnswerIsAnAnswerWithItsCause(t *testing.T) {
	for name, message := range map[string][]byte{
		"empty":       {},
		"unknown tag": {9, '{', '}'},
		"body":        {0, '{'},
		"other shape": codec.AppendResult(nil, []byte(`{"tools":7}`)),
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, reaskAfter(0))
			_, l := w.connect()
			e := w.ask(codec.ListTools, "a")
			p := w.open(l.all()[0])
			p.Arrived()
			p.Closed(message)
			s := w.settled(e, Unreadable)
			_, cause := codec.DecodeAnswer(codec.ListTools, message)
			if s.Err == nil || s.Err.Error() != cause.Error() {
				t.Fatalf("cause %v, want %v", s.Err, cause)
			}
			if name == "empty" && !errors.Is(s.Err, codec.ErrEmpty) {
				t.Fatalf("cause %v is not ErrEmpty", s.Err)
			}
			w.frames(l, "list-tools a", "notifications ")
		})
	}
}

func TestA7_UndecodableAndAbruptIsAskedAgain(t *testing.T) {
	w := begin(t, reaskAfter(0))
	_, l := w.connect()
	e := w.ask(codec.ListTools, "a")
	p := w.open(l.all()[0])
	p.Arrived()
	p.Broke()
	w.unsettled(e)
	w.frames(l, "list-tools a", "notifications ", "list-tools a")
}

func TestA8_FurtherMessagesAreIgnoredAndCounted(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	if first, second, third := p.Arrived(), p.Arrived(), p.Arrived(); !first || second || third {
		t.Fatalf("first: %v %v %v, want true false false", first, second, third)
	}
	p.Closed(resultFor(codec.CallTool, "a"))
	w.settled(e, Answered)
	if n := w.m.Stats().ExtraMessages; n != 2 {
		t.Fatalf("%d extra messages, want 2", n)
	}
}

func TestA10_WaitingAskOfACallerThatLeftIsWithdrawn(t *testing.T) {
	w := begin(t)
	a, b := w.ask(codec.CallTool, "a"), w.ask(codec.CallTool, "b")
	for _, gone := range []bool{a.Leave(), a.Leave(), b.Cancel(), b.Leave()} {
		if !gone {
			t.Fatal("false: the caller would have to expect a Settle")
		}
	}
	_, l := w.connect()
	w.frames(l)
	s := w.m.Stats()
	if s.Settled[codec.CallTool][Left] != 1 || s.Settled[codec.CallTool][Cancelled] != 1 || s.Waiting != 0 {
		t.Fatalf("stats %+v", s)
	}
}

func TestA10_BrokenAskOfACallerThatLeftIsWithdrawn(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	w.open(l.all()[0]).Broke()
	if !e.Leave() {
		t.Fatal("Leave of a broken ask: false")
	}
	if timer := w.clock.timers[0]; !timer.stopped {
		t.Fatal("the timer is left behind")
	}
	w.clock.timers[0].fire()
	w.frames(l, "call-tool a", "notifications ")
}

func TestA10_AnnouncedAskStaysAnswerableAndItsAnswerIsDropped(t *testing.T) {
	for _, opened := range []bool{false, true} {
		w := begin(t)
		_, l := w.connect()
		e := w.ask(codec.CallTool, "a")
		var p *Path
		if opened {
			p = w.open(l.all()[0])
		}
		if !e.Leave() {
			t.Fatal("Leave: false")
		}
		if !opened {
			p = w.open(l.all()[0])
		}
		if p.Cancelled() || p.socket.(*fakeSocket).closes != 0 {
			t.Fatal("the caller left and did not cancel: the server is to be let finish")
		}
		p.Arrived()
		p.Closed(resultFor(codec.CallTool, "a"))
		w.unsettled(e)
		if n := w.m.Stats().DroppedAnswers; n != 1 {
			t.Fatalf("%d answers dropped, want 1", n)
		}
		w.unknown(l.all()[0])
	}
}

func TestA10_AskOfACallerThatLeftIsNotAskedAgainWhenItBreaks(t *testing.T) {
	w := begin(t, reaskAfter(0))
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	e.Leave()
	p.Broke()
	w.frames(l, "call-tool a", "notifications ")
	w.unsettled(e)
	if s := w.m.Stats(); s.Open != 0 || s.Waiting != 0 {
		t.Fatalf("stats %+v", s)
	}
}

func TestA10_CancelClosesAnOpenPathWithoutAMessageOnce(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	socket := p.socket.(*fakeSocket)
	if !e.Leave() || socket.closes != 0 {
		t.Fatal("Leave closed the path")
	}
	for range 2 {
		if !e.Cancel() || socket.closes != 1 {
			t.Fatalf("closed %d times, want once", socket.closes)
		}
	}
	p.Closed(nil)
	w.unsettled(e)
	w.unknown(l.all()[0])
}

func TestA10_CancelLeavesAPathThatBroughtItsMessageAlone(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	p.Arrived()
	if !e.Cancel() {
		t.Fatal("Cancel: false")
	}
	if p.socket.(*fakeSocket).closes != 0 {
		t.Fatal("the path was closed as not served after its message")
	}
	p.Closed(resultFor(codec.CallTool, "a"))
	w.unsettled(e)
}

func TestA10_PathOpenedForACancelledAskSaysSo(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	e.Cancel()
	p := w.open(l.all()[0])
	if !p.Cancelled() || p.socket.(*fakeSocket).closes != 0 {
		t.Fatal("the path is to be closed by who opened it, and by nobody else")
	}
	p.Closed(nil)
	w.unsettled(e)
}

func TestA10_LeavingAfterTheAnswerComesTooLate(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	w.answer(l.all()[0])
	if e.Leave() || e.Cancel() {
		t.Fatal("true: but Settle was called")
	}
	w.settled(e, Answered)
	if n := w.m.Stats().Settled[codec.CallTool]; n[Left] != 0 || n[Cancelled] != 0 || n[Answered] != 1 {
		t.Fatalf("settled %v", n)
	}
}

func TestW9_TooBigIsToldWithTheLimitAndNotAskedAgain(t *testing.T) {
	w := begin(t, reaskAfter(0))
	cl, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	w.open(l.all()[0]).TooBig(4096)
	if s := w.settled(e, TooBig); s.Limit != 4096 {
		t.Fatalf("limit %d", s.Limit)
	}
	cl.Detach()
	_, l = w.connect()
	w.frames(l, "notifications ")
}
