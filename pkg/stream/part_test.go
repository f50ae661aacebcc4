package stream

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCloseAfterWritesTheLastMessageAndCloses(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g, why := openGate(), newReasons()
		s := h.Open(g, why.told)
		s.Send(lossy("first "))
		s.CloseAfter(lossy("last"), CloseEnded)
		expect(t, "wire, at once", g.sent(), "first last")
		why.only(t, CloseEnded)
		expect(t, "streams", h.Streams(), 0)
		expect(t, "connection closed", g.timesClosed(), 1)
		expect(t, "sent", c.Sent.Load(), 2)
		s.CloseAfter(lossy("too late"), CloseEnded)
		expect(t, "taken", s.Send(lossy("too late")), false)
		synctest.Wait()
		expect(t, "wire", g.sent(), "first last")
	})
}

func TestCloseAfterWaitsForWhatWasGivenBeforeAndTakesNothingMore(t *testing.T) {
	for name, last := range map[string]string{"a message": "last", "no bytes": ""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
				g, why := newGate(3), newReasons()
				s := h.Open(g, why.told)
				h.Publish(lossy("first "))
				h.Publish(keyed("k", "second "))
				s.CloseAfter(Message{Bytes: []byte(last), Key: "k"}, CloseShutdown)
				s.CloseAfter(lossy("another last"), CloseLeft)
				expect(t, "took", h.Publish(kept("late")), 0)
				expect(t, "took", s.Send(Message{}), false)
				synctest.Wait()
				if _, closed := s.Closed(); closed || len(why) != 0 {
					t.Fatal("closed before the last message was written")
				}
				expect(t, "open", h.Streams(), 1)
				g.grant(100)
				why.only(t, CloseShutdown)
				expect(t, "wire", g.sent(), "first second "+last)
				expect(t, "sent", c.Sent.Load(), 3)
				expect(t, "merged", c.Coalesced.Load(), 0)
			})
		})
	}
}

// within is a connection that is written to while f runs.
type within struct {
	*gate
	f func()
}

func (w *within) TryWrite(p []byte) (int, error) {
	if f := w.f; f != nil {
		w.f = nil
		f()
	}
	return w.gate.TryWrite(p)
}

func TestCloseAfterBesideADirectWriteFollowsIt(t *testing.T) {
	for name, last := range map[string]string{"a message": "last", "no bytes": ""} {
		for taken, room := range map[string]int{"whole": 100, "in part": 2} {
			t.Run(name+" "+taken, func(t *testing.T) {
				bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
					w, why := &within{gate: newGate(room)}, newReasons()
					s := h.Open(w, why.told)
					w.f = func() { s.CloseAfter(lossy(last), CloseEnded) }
					expect(t, "took", s.Send(lossy("first ")), true)
					synctest.Wait()
					w.grant(100)
					why.only(t, CloseEnded)
					expect(t, "wire", w.sent(), "first "+last)
					expect(t, "sent", c.Sent.Load(), 2)
				})
			})
		}
	}
}

func TestALastMessageMakesRoomAndIsNotLostForIt(t *testing.T) {
	bubble(t, Config{Messages: 3}, func(t *testing.T, h *Hub, c *Counters) {
		g, why := newGate(0), newReasons()
		s := h.Open(g, why.told)
		h.Publish(lossy("written "))
		h.Publish(lossy("lost "))
		h.Publish(kept("kept "))
		s.CloseAfter(lossy("last"), CloseEnded)
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 1)
		g.grant(100)
		why.only(t, CloseEnded)
		expect(t, "wire", g.sent(), "written kept last")
	})
}

func TestALastMessageWithoutRoomClosesTheStreamAllTheSame(t *testing.T) {
	for _, c := range []struct {
		name string
		last Message
		want CloseReason
		drop DropReason
	}{
		{"full", lossy("last"), CloseFull, DropClosed},
		{"too big", sized("x", 101), CloseTooBig, DropTooBig},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Config{Messages: 2, Bytes: 100}, func(t *testing.T, h *Hub, counters *Counters) {
				g, why := newGate(0), newReasons()
				s := h.Open(g, why.told)
				h.Publish(kept("a"))
				h.Publish(kept("b"))
				s.CloseAfter(c.last, CloseEnded)
				why.only(t, c.want)
				if n := counters.Dropped[c.drop].Load(); n == 0 {
					t.Errorf("nothing dropped as %v", c.drop)
				}
				expect(t, "wire", g.sent(), "")
			})
		})
	}
}

func TestWhatElseClosesAStreamThatPartsClosesIt(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*Hub, *Stream, *gate)
		want CloseReason
	}{
		{"stall", func(*Hub, *Stream, *gate) { <-time.After(time.Minute) }, CloseStalled},
		{"failure", func(_ *Hub, _ *Stream, g *gate) { g.fail(errors.New("reset")) }, CloseFailed},
		{"close", func(_ *Hub, s *Stream, _ *gate) { s.Close(CloseLeft) }, CloseLeft},
		{"hub", func(h *Hub, _ *Stream, _ *gate) { h.Close(CloseShutdown) }, CloseShutdown},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, h *Hub, counters *Counters) {
				g, why := newGate(5), newReasons()
				s := h.Open(g, why.told)
				s.CloseAfter(lossy("first last"), CloseEnded)
				synctest.Wait()
				expect(t, "open", h.Streams(), 1)
				c.end(h, s, g)
				why.only(t, c.want)
				expect(t, "wire", g.sent(), "first")
				expect(t, "dropped", counters.Dropped[DropClosed].Load(), 1)
			})
		})
	}
}

// blocking is a connection that takes its time to close.
type blocking struct {
	*gate
	release chan struct{}
}

func (b blocking) Close() error { <-b.release; return b.gate.Close() }

func TestCloseAfterNeitherBlocksNorCallsBack(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		b, why := blocking{openGate(), make(chan struct{})}, newReasons()
		s := h.Open(b, why.told)
		s.CloseAfter(lossy("last"), CloseEnded)
		expect(t, "told in the call", len(why), 0)
		_, closed := s.Closed()
		expect(t, "closed", closed, true)
		close(b.release)
		why.only(t, CloseEnded)
	})
}

// hesitant takes what it is offered a little later.
type hesitant struct{ gate }

func (g *hesitant) TryWrite(p []byte) (int, error) {
	runtime.Gosched()
	return g.gate.TryWrite(p)
}

// TestCloseAfterUnderContention has givers, a CloseAfter and, at times, a Close at
// once: a stream that closed for its last message has written it, whole and last.
func TestCloseAfterUnderContention(t *testing.T) {
	const rounds, givers, last = 2000, 2, "last message"
	counters := new(Counters)
	h := NewHub(&Config{Messages: 4, Counters: counters})
	for round := range rounds {
		g, why := &hesitant{}, newReasons()
		g.open, g.changed = true, make(chan struct{})
		s := h.Open(g, why.told)
		var given atomic.Int64
		var all sync.WaitGroup
		for range givers {
			all.Go(func() {
				for ; given.Load() < 1000 && !s.over(); given.Add(1) {
					s.Send(lossy("message "))
				}
			})
		}
		all.Go(func() {
			for given.Load() < int64(round%7) && !s.over() {
				runtime.Gosched()
			}
			s.CloseAfter(lossy(last), CloseEnded)
		})
		if round%5 == 0 {
			all.Go(func() { s.Close(CloseLeft) })
		}
		all.Wait()
		reason := <-why
		switch wire := g.sent(); {
		case reason == CloseLeft && round%5 == 0:
		case reason != CloseEnded:
			t.Fatalf("closed as %v", reason)
		case strings.ReplaceAll(wire, "message ", "") != last || !strings.HasSuffix(wire, last):
			t.Fatalf("the wire ends with %q", wire[max(0, len(wire)-40):])
		}
	}
	h.Close(CloseShutdown)
	atRest(t, counters)
}
