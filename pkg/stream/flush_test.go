package stream

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// flushing reports whether s holds a backlog and a writer.
func flushing(s *Stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy || s.backlog != nil
}

func TestAStreamThatKeepsUpHasNoFlusherAndNoQueue(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := openGate()
		s := h.Open(g, nil)
		for range 10 {
			h.Publish(lossy("x"))
			// No Wait: the publisher itself has written.
			expect(t, "flushing", flushing(s), false)
		}
		expect(t, "wire", g.sent(), "xxxxxxxxxx")
	})
}

func TestTheFlusherEndsWhenNothingWaits(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		s := h.Open(g, nil)
		for range 3 {
			h.Publish(lossy("abc"))
			h.Publish(lossy("def"))
			expect(t, "flushing", flushing(s), true)
			g.grant(6)
			synctest.Wait()
			expect(t, "flushing", flushing(s), false)
			g.mu.Lock()
			if !g.deadline.IsZero() {
				t.Error("a deadline was left behind, for the next direct write to fail by")
			}
			g.mu.Unlock()
		}
		expect(t, "wire", g.sent(), "abcdefabcdefabcdef")
	})
}

func TestAStreamWithoutProgressIsClosedAfterStall(t *testing.T) {
	bubble(t, Config{Stall: 30 * time.Second}, func(t *testing.T, h *Hub, c *Counters) {
		g, why := newGate(3), newReasons()
		began := time.Now()
		closed := make(chan time.Duration, 1)
		h.Open(g, func(s *Stream, r CloseReason) {
			why.told(s, r)
			closed <- time.Since(began)
		})
		h.Publish(lossy("abcdef"))
		h.Publish(kept("more"))
		expect(t, "queued", c.Queued.Load(), 2)
		expect(t, "after", <-closed, 30*time.Second)
		why.only(t, CloseStalled)
		expect(t, "closed", c.Closed[CloseStalled].Load(), 1)
		expect(t, "dropped", c.Dropped[DropClosed].Load(), 2)
		expect(t, "queued", c.Queued.Load(), 0)
		expect(t, "connection closed", g.timesClosed(), 1)
	})
}

func TestAStreamWithLittleProgressStaysOpen(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		h.Publish(lossy("abcdefghij"))
		for range 9 {
			<-time.After(29 * time.Second)
			g.grant(1)
			synctest.Wait()
		}
		expect(t, "wire", g.sent(), "abcdefghi")
		expect(t, "open", h.Streams(), 1)
	})
}

func TestAQuietStreamNeverStalls(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(1)
		h.Open(g, nil)
		h.Publish(lossy("abc"))
		g.grant(2)
		synctest.Wait()
		<-time.After(time.Hour)
		g.grant(3)
		h.Publish(lossy("def"))
		expect(t, "wire", g.sent(), "abcdef")
	})
}

func TestALargeMessageIsWrittenInPiecesWithADeadlineEach(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		text := strings.Repeat("0123456789abcdef", 16<<10) // 256 KiB
		h.Publish(lossy(text))
		for range len(text) / pieceSize {
			<-time.After(29 * time.Second)
			g.grant(pieceSize)
			synctest.Wait()
		}
		if g.sent() != text {
			t.Error("what arrived differs")
		}
		expect(t, "sent", c.Sent.Load(), 1)
	})
}

func TestAFailedWriteClosesTheStream(t *testing.T) {
	broken := errors.New("broken pipe")
	t.Run("the publisher's", func(t *testing.T) {
		bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
			g, why := openGate(), newReasons()
			h.Open(g, why.told)
			g.fail(broken)
			expect(t, "streams", h.Publish(lossy("x")), 0)
			why.only(t, CloseFailed)
			expect(t, "dropped", c.Dropped[DropClosed].Load(), 1)
		})
	})
	t.Run("the flusher's", func(t *testing.T) {
		bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
			g, why := newGate(1), newReasons()
			h.Open(g, why.told)
			h.Publish(lossy("abc"))
			h.Publish(lossy("def"))
			synctest.Wait()
			g.fail(broken)
			why.only(t, CloseFailed)
			expect(t, "dropped", c.Dropped[DropClosed].Load(), 2)
		})
	})
}

func TestAPanicInTheConnectionCostsOnlyItsStream(t *testing.T) {
	var value any
	var stack []byte
	config := Config{Panicked: func(v any, s []byte) { value, stack = v, s }}
	bubble(t, config, func(t *testing.T, h *Hub, c *Counters) {
		g, other, why := newGate(0), openGate(), newReasons()
		h.Open(g, why.told)
		h.Open(other, nil)
		h.Publish(lossy("abc"))
		synctest.Wait()
		g.change(func() { g.panics = true })
		why.only(t, CloseFailed)
		expect(t, "told of", value, "gate")
		if len(stack) == 0 {
			t.Error("no stack")
		}
		h.Publish(lossy("def"))
		expect(t, "the other's wire", other.sent(), "abcdef")
	})
}
