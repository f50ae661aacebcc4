package stream

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTheBoundInMessagesCountsTheOneBeingWritten(t *testing.T) {
	bubble(t, Config{Messages: 3}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		for _, m := range []string{"a", "b", "c", "d", "e"} {
			h.Publish(lossy(m))
			if q := c.Queued.Load(); q > 3 {
				t.Fatalf("%d queued", q)
			}
		}
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "ade")
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 2)
	})
}

func TestTheBoundInBytesIsHard(t *testing.T) {
	bubble(t, Config{Bytes: 10}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		for _, m := range []Message{sized("a", 4), sized("b", 3), sized("c", 3), sized("d", 1), sized("e", 6)} {
			h.Publish(m)
			if b := c.QueuedBytes.Load(); b > 10 {
				t.Fatalf("%d bytes queued", b)
			}
		}
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "aaaaeeeeee") // d made room for b, then c and d for e.
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 3)
	})
}

func TestOnlyWhatMayBeLostMakesRoomOldestFirst(t *testing.T) {
	bubble(t, Config{Messages: 6}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		for _, m := range []Message{lossy("0"), kept("1"), lossy("2"), keyed("k", "3"), lossy("4"), kept("5")} {
			h.Publish(m)
		}
		h.Publish(kept("6"))
		h.Publish(lossy("7"))
		h.Publish(kept("8"))
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "013568")
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 3)
	})
}

func TestANewcomerThatMayBeLostIsDroppedWhereNothingElseMayBe(t *testing.T) {
	bubble(t, Config{Messages: 3}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		s := h.Open(g, nil)
		h.Publish(lossy("0"))
		h.Publish(kept("1"))
		h.Publish(kept("2"))
		expect(t, "taken", s.Send(lossy("3")), false)
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "012")
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 1)
	})
}

func TestAHopelessNewcomerCostsTheQueueNothing(t *testing.T) {
	bubble(t, Config{Bytes: 10}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		h.Publish(sized("a", 5)) // being written: it makes no room
		h.Publish(sized("b", 2))
		h.Publish(sized("c", 6))
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "aaaaabb")
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 1)
	})
}

func TestAFullQueueOfWhatMayNotBeLostClosesTheStream(t *testing.T) {
	for name, last := range map[string]Message{"keep": kept("3"), "key": keyed("x", "3")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{Messages: 3}, func(t *testing.T, h *Hub, c *Counters) {
				g, why := newGate(0), newReasons()
				h.Open(g, why.told)
				h.Publish(kept("0"))
				h.Publish(keyed("k", "1"))
				h.Publish(kept("2"))
				expect(t, "streams", h.Publish(last), 0)
				expect(t, "queued at once", c.Queued.Load(), 0)
				why.only(t, CloseFull)
				expect(t, "closed", c.Closed[CloseFull].Load(), 1)
				expect(t, "dropped", c.Dropped[DropClosed].Load(), 4)
				expect(t, "streams", h.Streams(), 0)
			})
		})
	}
}

func TestAKeyThatIsQueuedNeedsNoRoom(t *testing.T) {
	bubble(t, Config{Messages: 2}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		h.Publish(kept("0"))
		h.Publish(keyed("k", "1"))
		expect(t, "streams", h.Publish(keyed("k", "1")), 1)
		expect(t, "coalesced", c.Coalesced.Load(), 1)
	})
}

func TestAMessageLargerThanTheBoundNeverGetsIn(t *testing.T) {
	bubble(t, Config{Bytes: 10}, func(t *testing.T, h *Hub, c *Counters) {
		g, why := openGate(), newReasons()
		s := h.Open(g, why.told)
		expect(t, "ten", s.Send(sized("a", 10)), true)
		expect(t, "eleven", s.Send(sized("b", 11)), false)
		expect(t, "dropped", c.Dropped[DropTooBig].Load(), 1)
		expect(t, "open", h.Streams(), 1)
		expect(t, "eleven that may not be lost", s.Send(kept("ccccccccccc")), false)
		why.only(t, CloseTooBig)
		expect(t, "wire", g.sent(), "aaaaaaaaaa")
		expect(t, "dropped", c.Dropped[DropTooBig].Load(), 2)
	})
}

func TestAnEmptyMessageIsSentByNotSendingIt(t *testing.T) {
	bubble(t, Config{Messages: 1}, func(t *testing.T, h *Hub, c *Counters) {
		s := h.Open(newGate(0), nil)
		s.Send(kept("fills it"))
		expect(t, "taken", s.Send(Message{Keep: true}), true)
		expect(t, "sent", c.Sent.Load(), 1)
	})
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	var c Config
	expect(t, "messages", c.messages(), 256)
	expect(t, "bytes", c.bytes(), 1<<20)
	expect(t, "stall", c.stall(), 30*time.Second)
}

func TestAConfigWithoutMeaningIsRefused(t *testing.T) {
	for _, c := range []Config{{Messages: -1}, {Bytes: -1}, {Stall: -1}} {
		if c.Check() == nil {
			t.Errorf("%+v passed", c)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a hub was made of %+v", c)
				}
			}()
			NewHub(&c)
		}()
	}
}
