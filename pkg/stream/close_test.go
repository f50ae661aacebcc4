package stream

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheCloseCallbackIsToldOnceWhoeverCloses(t *testing.T) {
	bubble(t, Config{Messages: 2}, func(t *testing.T, h *Hub, c *Counters) {
		for range 50 {
			g, why := newGate(0), newReasons()
			s := h.Open(g, why.told)
			h.Publish(kept("0"))
			h.Publish(kept("1"))
			var closing sync.WaitGroup
			for _, f := range []func(){
				func() { s.Close(CloseLeft) },
				func() { s.Close(CloseReplaced) },
				func() { h.Publish(kept("2")) },
				func() { h.Publish(kept("3")) },
			} {
				closing.Go(f)
			}
			closing.Wait()
			synctest.Wait()
			if len(why) != 1 {
				t.Fatalf("told %d times", len(why))
			}
			reason, closed := s.Closed()
			expect(t, "closed", closed, true)
			expect(t, "reason", <-why, reason)
			expect(t, "connection closed", g.timesClosed(), 1)
		}
	})
}

func TestTheCloseCallbackMayUseHubAndStream(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		told := false
		s := h.Open(newGate(0), func(s *Stream, _ CloseReason) {
			told = true
			expect(t, "streams", h.Streams(), 0)
			expect(t, "counted", c.Streams.Load(), 0)
			s.Close(CloseLeft)
			s.Send(lossy("x"))
			h.Publish(lossy("x"))
			h.Open(openGate(), nil)
		})
		s.Send(lossy("waits"))
		s.Close(CloseEnded)
		expect(t, "told", told, true)
		expect(t, "streams", h.Streams(), 1)
	})
}

func TestWhatComesLateIsHarmless(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g, why := openGate(), newReasons()
		s := h.Open(g, why.told)
		if _, closed := s.Closed(); closed {
			t.Error("closed from the start")
		}
		s.Close(CloseLeft)
		expect(t, "taken", s.Send(kept("late")), false)
		expect(t, "streams", h.Publish(kept("late")), 0)
		expect(t, "queued", c.Queued.Load(), 0)
		expect(t, "wire", g.sent(), "")
		s.Close(CloseEnded)
		why.only(t, CloseLeft)
	})
}

func TestAClosedStreamHoldsNothing(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		s := h.Open(newGate(0), nil)
		for range 100 {
			s.Send(sized("x", 1000))
		}
		s.Close(CloseLeft)
		if s.backlog != nil {
			t.Error("the queue is still there")
		}
		expect(t, "bytes", c.QueuedBytes.Load(), 0)
		expect(t, "dropped", c.Dropped[DropClosed].Load(), 100)
	})
}

func TestAClosedHubClosesItsStreamsAndOpensNoMore(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		why := newReasons()
		for range 5 {
			h.Open(newGate(0), why.told)
		}
		h.Publish(lossy("waits"))
		h.Close(CloseShutdown)
		expect(t, "told", len(why), 5)
		expect(t, "streams", h.Streams(), 0)
		h.Close(CloseEnded)
		g := openGate()
		s := h.Open(g, why.told)
		reason, closed := s.Closed()
		if !closed || reason != CloseShutdown || g.timesClosed() != 1 || len(why) != 6 {
			t.Errorf("a stream opened late: closed %v, %v, connection closed %d times, told %d", closed, reason, g.timesClosed(), len(why))
		}
	})
}

func TestAPanicInTheCallbackEndsNothingElse(t *testing.T) {
	told := 0
	bubble(t, Config{Messages: 1, Panicked: func(any, []byte) { told++ }}, func(t *testing.T, h *Hub, c *Counters) {
		h.Open(newGate(0), func(*Stream, CloseReason) { panic("callback") })
		h.Publish(kept("0"))
		h.Publish(kept("1"))
		synctest.Wait()
		expect(t, "told", told, 1)
		h.Open(openGate(), func(*Stream, CloseReason) { panic("callback") })
		h.Close(CloseShutdown)
		expect(t, "told", told, 2)
	})
}

// hung is a connection whose Close waits.
type hung struct {
	*gate
	entered, leave chan struct{}
}

func (c *hung) Close() error {
	close(c.entered)
	<-c.leave
	return c.gate.Close()
}

// Not in a bubble: there, waiting for a mutex is not waiting.
func TestPublishingTakesNoLockOfAnOpeningAClosingOrAnotherHub(t *testing.T) {
	config := &Config{Messages: 1, Counters: new(Counters)}
	h, other := NewHub(config), NewHub(config)
	neighbour := other.Open(openGate(), nil)
	g, why := openGate(), newReasons()
	h.Open(g, nil)
	full := h.Open(newGate(0), why.told)
	full.Send(kept("fills it"))
	conn := &hung{newGate(0), make(chan struct{}), make(chan struct{})}
	closing := h.Open(conn, nil)
	var closed sync.WaitGroup
	closed.Go(func() { closing.Close(CloseLeft) })
	<-conn.entered

	// An opening or a closing holds the list; a closing holds its stream's lock;
	// another hub holds all of its own.
	h.mu.Lock()
	closing.mu.Lock()
	other.mu.Lock()
	neighbour.mu.Lock()
	published := make(chan struct{})
	go func() {
		defer close(published)
		h.Publish(lossy("a"))
		h.Publish(kept("b")) // closes the full one, for which the list must change
		h.Publish(lossy("c"))
	}()
	select {
	case <-published:
	case <-time.After(20 * time.Second):
		t.Error("publishing waits for a lock")
	}
	neighbour.mu.Unlock()
	other.mu.Unlock()
	closing.mu.Unlock()
	h.mu.Unlock()
	<-published
	close(conn.leave)
	closed.Wait()
	expect(t, "reason", <-why, CloseFull)
	expect(t, "wire", g.sent(), "abc")
	expect(t, "streams", h.Streams(), 1)
	h.Close(CloseShutdown)
	other.Close(CloseShutdown)
	atRest(t, config.Counters)
}

func TestEveryReasonHasAName(t *testing.T) {
	seen := map[string]bool{}
	for r := range CloseReason(CloseReasonCount) {
		seen["close "+r.String()] = true
	}
	for r := range DropReason(DropReasonCount) {
		seen["drop "+r.String()] = true
	}
	if len(seen) != CloseReasonCount+DropReasonCount || seen["close "] || seen["drop "] {
		t.Errorf("the names are %v", seen)
	}
	expect(t, "beyond", CloseReason(200).String(), "close-reason(200)")
	expect(t, "beyond", DropReason(200).String(), "drop-reason(200)")
}
