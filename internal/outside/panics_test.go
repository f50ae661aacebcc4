package outside

import (
	"io"
	"testing"
	"unsafe"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

func TestAPanicInACallerEndsOneSocketOnly(t *testing.T) {
	w := begin(t)
	w.faulty = true
	p := w.provider("default")
	there(w.mux.Container("default")).Ask(codec.CallTool, []byte(toolAsk), panics{})
	answer := p.open(p.call())
	answer.BinaryAndClose(result(toolAnswer))
	answer.ReadGone()
	eventually(t, "the panic is counted", func() bool { return w.counts.panics() == 1 })
	if w.log.count("panic") == 0 || w.log.count("goroutine ") == 0 {
		t.Errorf("not logged with its stack: %s", w.log)
	}
	c := w.callTool(toolAsk)
	p.answer(p.call(), result(toolAnswer))
	c.answered(toolAnswer)
	w.eventuallyClosed("call-tool")
}

type panics struct{}

func (panics) Settle(mux.Settlement) { panic("a caller's fault") }

func TestAPanicInASinkIsAnAbruptEnd(t *testing.T) {
	w := begin(t, func(s *setup) { s.mux.NewSink = func(string) mux.Sink { return panics{} } })
	w.faulty = true
	p, path := w.listening("default")
	path.Binary(notification("boom"))
	path.ReadGone()
	w.eventuallyClosed("notifications")
	if n := w.counts.panics(); n != 1 {
		t.Errorf("%d panics were counted", n)
	}
	p.again(p.notifications(), 0)
}

func (panics) Notify(codec.Notification) { panic("a sink's fault") }

func TestAPanicBeforeTheUpgradeLeaksNothing(t *testing.T) {
	w := begin(t, func(s *setup) {
		s.mux.NewSink = func(id string) mux.Sink {
			if id == "cursed" {
				panic("no sink for this one")
			}
			return nil
		}
	})
	w.faulty = true
	c := w.plain()
	if _, err := io.WriteString(c, "GET /containers/cursed/requests HTTP/1.1\r\n"+upgradeHeaders+"\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%v", err)
	}
	w.provider("blessed").quiet()
}

// openingPanics has the next socket of path meet a panic once it has opened.
func (w *world) openingPanics(path string) {
	w.faulty = true
	w.counts.whenOpened(path, func() { panic("an observer's fault") })
}

func TestR5_APanicAfterTheClaimFreesIt(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		w.openingPanics(RequestsLabel)
		c := w.callTool(toolAsk)
		if peer, _, err := wstest.Try(w.addr, "/requests"); peer != nil || err == nil {
			t.Fatalf("%v, wanted no response", err)
		}
		p := w.provider("default")
		p.answer(p.call(), result(toolAnswer))
		c.answered(toolAnswer)
	})
}

func TestA5_APanicAfterThePathOpenedIsAnAbruptEnd(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		w.openingPanics("call-tool")
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		if peer, _, err := wstest.Try(w.addr, path(ask.Kind, ask.Channel)); peer != nil || err == nil {
			t.Fatalf("%v, wanted no response", err)
		}
		p.answer(p.again(ask, 0), result(toolAnswer))
		c.answered(toolAnswer)
	})
}

func TestG6_APanicAfterTheListBeganLeaksNothing(t *testing.T) {
	w := begin(t)
	w.openingPanics(ContainersLabel)
	c := w.plain()
	if _, err := io.WriteString(c, listRequest); err != nil {
		t.Fatal(err)
	}
	if head, err := io.ReadAll(c); len(head) != 0 || err != nil {
		t.Errorf("%q %v, wanted no response", head, err)
	}
	w.follow()
}

// Shutdown, which the world does, waits for every socket that is on the roster.
func TestAPanicOnTheWayOutLeavesNothingOnTheRoster(t *testing.T) {
	w := begin(t)
	w.faulty = true
	for i, path := range []string{RequestsLabel, "call-tool", ContainersLabel} {
		p, l := w.provider("default"), w.follow()
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		w.counts.mu.Lock()
		w.counts.cursed = path
		w.counts.mu.Unlock()
		answer.Binary(result(toolAnswer))
		answer.Close(1000)
		c.answered(toolAnswer)
		p.requests.Reset()
		_ = l.conn.Close()
		eventually(t, "all are off the roster", func() bool {
			open, lingering := w.handler.roster.all()
			return len(open)+len(lingering) == 0
		})
		if n := w.counts.panics(); n != i+1 {
			t.Errorf("%s: %d panics were counted", path, n)
		}
	}
}

// onlyAnswer is the one answer path that is open.
func (w *world) onlyAnswer() *answer {
	open, _ := w.handler.roster.all()
	for _, m := range open {
		if a, ok := m.socket.(*answer); ok {
			return a
		}
	}
	return nil
}

// unreadable is a message that panics whoever decodes it.
func unreadable() []byte {
	nowhere := struct {
		at       unsafe.Pointer
		len, cap int
	}{nil, 2, 2}
	return *(*[]byte)(unsafe.Pointer(&nowhere))
}

func TestA4_APanicWhileTheAnswerIsDecodedIsAnAbruptEnd(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		w.faulty = true
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		w.counts.whenOpened("call-tool", func() {
			a := w.onlyAnswer()
			a.path.Arrived()
			a.first = &codec.Buffer{B: unreadable()}
		})
		answer := p.open(ask)
		answer.Close(1000)
		answer.ReadGone()
		again := p.again(ask, 0)
		c.untold()
		p.answer(again, result(toolAnswer))
		c.answered(toolAnswer)
		if n := w.counts.panics(); n != 1 {
			t.Errorf("%d panics were counted", n)
		}
	})
}
