package stream

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unsafe"
)

// batchOf has no room for what does not fit.
func batchOf(t testing.TB, all ...Message) *Batch {
	t.Helper()
	b := new(Batch)
	for _, m := range all {
		if !b.Add(m) {
			t.Fatal("the batch is full")
		}
	}
	return b
}

// counting is a connection that counts its writes.
type counting struct {
	*gate
	writes *[]string
}

func newCounting(g *gate) counting { return counting{g, new([]string)} }

func (c counting) TryWrite(p []byte) (int, error) {
	n, err := c.gate.TryWrite(p)
	if n > 0 {
		*c.writes = append(*c.writes, string(p[:n]))
	}
	return n, err
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.gate.Write(p)
	*c.writes = append(*c.writes, string(p[:n]))
	return n, err
}

func TestABatchIsOneWriteToAStreamOnWhichNothingWaits(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		conns := []counting{newCounting(openGate()), newCounting(openGate())}
		for _, conn := range conns {
			h.Open(conn, nil)
		}
		expect(t, "streams", h.PublishBatch(batchOf(t, lossy("a,"), kept("b,"), keyed("k", "c,"))), 2)
		for _, conn := range conns {
			expect(t, "writes", strings.Join(*conn.writes, "|"), "a,b,c,")
		}
		expect(t, "sent", c.Sent.Load(), 6)
	})
}

func TestABatchKeepsItsPlaceInTheOrder(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		quick, slow := openGate(), newGate(3)
		h.Open(quick, nil)
		h.Open(slow, nil)
		h.Publish(lossy("0,"))
		h.PublishBatch(batchOf(t, lossy("1,"), lossy("2,")))
		h.Publish(lossy("3,"))
		h.PublishBatch(batchOf(t, lossy("4,"), lossy("5,")))
		expect(t, "quick", quick.sent(), "0,1,2,3,4,5,")
		synctest.Wait()
		expect(t, "slow", slow.sent(), "0,1")
		expect(t, "queued", c.Queued.Load(), 5)
		expect(t, "bytes", c.QueuedBytes.Load(), 10)
		slow.grantAll()
		synctest.Wait()
		expect(t, "slow", slow.sent(), "0,1,2,3,4,5,")
	})
}

func TestWhatComesWhileABatchIsWrittenFollowsIt(t *testing.T) {
	for room := range 8 {
		bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
			w := &within{gate: newGate(room)}
			s := h.Open(w, nil)
			w.f = func() {
				s.Send(lossy("4,"))
				h.PublishBatch(batchOf(t, lossy("5,"), lossy("6,")))
			}
			h.PublishBatch(batchOf(t, lossy("1,"), lossy("2,"), lossy("3,")))
			synctest.Wait()
			w.grantAll()
			synctest.Wait()
			expect(t, "wire", w.sent(), "1,2,3,4,5,6,")
			expect(t, "sent", c.Sent.Load(), 6)
		})
	}
}

func TestABatchIsWrittenAtMostOnceAlsoWhenTheStreamEndsInTheMiddle(t *testing.T) {
	for room := range 13 {
		bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
			g := newGate(room)
			s := h.Open(g, nil)
			h.PublishBatch(batchOf(t, lossy("one."), lossy("two."), lossy("six.")))
			synctest.Wait()
			s.Close(CloseLeft)
			g.grantAll()
			synctest.Wait()
			expect(t, "wire", g.sent(), "one.two.six."[:room])
			expect(t, "sent", c.Sent.Load(), uint64(room/4))
			expect(t, "dropped", c.Dropped[DropClosed].Load(), uint64(3-room/4))
		})
	}
}

func TestAStreamThatClosesWhileABatchIsWrittenAccountsForIt(t *testing.T) {
	for room := range 8 {
		bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
			w, other := &within{gate: newGate(room)}, openGate()
			s := h.Open(w, nil)
			h.Open(other, nil)
			w.f = func() { s.ending.Store(uint32(CloseLeft) + 1) } // its conn still takes what it can
			streams := h.PublishBatch(batchOf(t, lossy("a,"), lossy("b,"), lossy("c,")))
			expect(t, "streams", streams, 1+min(1, room/2))
			expect(t, "sent", c.Sent.Load(), uint64(3+min(3, room/2)))
			expect(t, "dropped", c.Dropped[DropClosed].Load(), uint64(3-min(3, room/2)))
			expect(t, "the other", other.sent(), "a,b,c,")
			s.finish(CloseLeft)
		})
	}
}

func TestAStreamThatOpensWhileABatchIsWrittenHearsNoneOfIt(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		w, late := &within{gate: openGate()}, openGate()
		h.Open(w, nil)
		w.f = func() { h.Open(late, nil) }
		h.PublishBatch(batchOf(t, lossy("a,"), lossy("b,")))
		h.PublishBatch(batchOf(t, lossy("c,"), lossy("d,")))
		expect(t, "late", late.sent(), "c,d,")
	})
}

func TestTheSameKeyAddsNothingInABatch(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		quick, slow := openGate(), newGate(0)
		h.Open(quick, nil)
		h.Open(slow, nil)
		b := batchOf(t, keyed("t", "t,"), lossy("1,"), keyed("t", "t,"), keyed("r", "r,"))
		expect(t, "t would add something", b.Merges("t"), true)
		expect(t, "nothing adds something", b.Merges(""), false)
		expect(t, "messages", b.Len(), 5)
		h.PublishBatch(b)
		expect(t, "quick", quick.sent(), "t,1,r,")
		expect(t, "merged", c.Coalesced.Load(), 4)
		h.PublishBatch(batchOf(t, keyed("t", "t,"), keyed("r", "r,"), keyed("r", "r,")))
		expect(t, "quick", quick.sent(), "t,1,r,t,r,")
		// On the slow one the first t is being written, and the first r waits.
		expect(t, "merged", c.Coalesced.Load(), 4+2+1)
		slow.grantAll()
		synctest.Wait()
		expect(t, "slow", slow.sent(), "t,1,r,t,")
	})
}

func TestTheBoundsHoldForABatch(t *testing.T) {
	t.Run("of which a part waits", func(t *testing.T) {
		bubble(t, Config{Messages: 4, Bytes: 8}, func(t *testing.T, h *Hub, c *Counters) {
			g := newGate(1)
			h.Open(g, nil)
			h.PublishBatch(batchOf(t, lossy("0,"), lossy("1,"), lossy("2,"), lossy("3,")))
			expect(t, "queued", c.Queued.Load(), 4)
			h.PublishBatch(batchOf(t, lossy("4,"), kept("5,")))
			expect(t, "queued", c.Queued.Load(), 4)
			expect(t, "bytes", c.QueuedBytes.Load(), 8)
			expect(t, "dropped", c.Dropped[DropRoom].Load(), 2)
			g.grantAll()
			synctest.Wait()
			expect(t, "wire", g.sent(), "0,3,4,5,")
		})
	})
	t.Run("while it is written", func(t *testing.T) {
		bubble(t, Config{Messages: 4}, func(t *testing.T, h *Hub, c *Counters) {
			w := &within{gate: newGate(0)}
			s := h.Open(w, nil)
			w.f = func() {
				expect(t, "one fits", s.Send(lossy("2,")), true)
				expect(t, "two fit", s.Send(kept("3,")), true)
				expect(t, "three fit", s.Send(kept("4,")), true) // 2 makes room
				expect(t, "four fit", s.Send(lossy("5,")), false)
			}
			h.PublishBatch(batchOf(t, lossy("0,"), lossy("1,")))
			expect(t, "queued", c.Queued.Load(), 4)
			w.grantAll()
			synctest.Wait()
			expect(t, "wire", w.sent(), "0,1,3,4,")
			expect(t, "dropped", c.Dropped[DropRoom].Load(), 2)
		})
	})
	t.Run("that is larger", func(t *testing.T) {
		for name, config := range map[string]Config{"in messages": {Messages: 2}, "in bytes": {Bytes: 4}} {
			t.Run(name, func(t *testing.T) {
				bubble(t, config, func(t *testing.T, h *Hub, c *Counters) {
					quick, slow := openGate(), newGate(0)
					h.Open(quick, nil)
					h.Open(slow, nil)
					h.PublishBatch(batchOf(t, lossy("0,"), lossy("1,"), lossy("2,"), Message{}))
					expect(t, "quick", quick.sent(), "0,1,2,")
					expect(t, "queued", c.Queued.Load(), 2)
					slow.grantAll()
					synctest.Wait()
					expect(t, "slow", slow.sent(), "0,2,")
				})
			})
		}
	})
	t.Run("of which one is larger", func(t *testing.T) {
		bubble(t, Config{Bytes: 4}, func(t *testing.T, h *Hub, c *Counters) {
			g, why := openGate(), newReasons()
			h.Open(g, why.told)
			h.PublishBatch(batchOf(t, lossy("0,"), sized("x", 5), kept("22222"), lossy("3,")))
			why.only(t, CloseTooBig)
			expect(t, "wire", g.sent(), "0,")
			expect(t, "dropped", c.Dropped[DropTooBig].Load(), 2)
		})
	})
	t.Run("that may not be lost", func(t *testing.T) {
		bubble(t, Config{Messages: 3}, func(t *testing.T, h *Hub, c *Counters) {
			g, why := newGate(0), newReasons()
			h.Open(g, why.told)
			h.Publish(kept("0"))
			expect(t, "streams", h.PublishBatch(batchOf(t, kept("1"), kept("2"), kept("3"), kept("4"))), 1)
			why.only(t, CloseFull)
			expect(t, "queued", c.Queued.Load(), 0)
			expect(t, "dropped", c.Dropped[DropClosed].Load(), 4)
		})
	})
}

func TestABatchHasRoomForSoManyMessagesAndBytes(t *testing.T) {
	b := new(Batch)
	for range BatchMessages {
		expect(t, "room", b.Add(lossy("x")), true)
	}
	expect(t, "room", b.Add(lossy("x")), false)
	b.Reset()
	expect(t, "messages", b.Len(), 0)
	expect(t, "room", b.Add(sized("x", BatchBytes-1)), true)
	expect(t, "room", b.Add(lossy("xx")), false)
	expect(t, "room", b.Add(lossy("x")), true)
}

func TestABatchIsGoodForAnotherOnceItIsReset(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		b := batchOf(t, lossy("a,"), lossy("b,"))
		h.PublishBatch(b)
		b.Reset()
		b.Add(lossy("c,"))
		h.PublishBatch(b)
		b.Reset()
		expect(t, "nobody", h.PublishBatch(b), 0)
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "a,b,c,")
	})
}

func TestAllStreamsShareABatchsBytes(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		streams := []*Stream{h.Open(newGate(0), nil), h.Open(newGate(0), nil)}
		h.PublishBatch(batchOf(t, lossy("abc"), lossy("def")))
		first := unsafe.Pointer(unsafe.SliceData(streams[0].backlog.at(0).Bytes))
		for _, s := range streams {
			s.mu.Lock()
			for i := range 2 {
				expect(t, "its place", unsafe.Pointer(unsafe.SliceData(s.backlog.at(i).Bytes)), unsafe.Add(first, 3*i))
			}
			s.mu.Unlock()
		}
	})
}

func TestTheFlusherJoinsWhatWaits(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		conn := newCounting(newGate(0))
		h.Open(conn, nil)
		for _, m := range strings.Fields("0, 1, 2, 3, 4,") {
			h.Publish(lossy(m))
		}
		conn.grantAll()
		synctest.Wait()
		// The first is waited with, the second tells that there is room.
		expect(t, "writes", strings.Join(*conn.writes, "|"), "0,|1,|2,3,4,")
		expect(t, "sent", c.Sent.Load(), 5)
	})
}

func TestWhatTheFlusherJoinsIsBounded(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		conn := newCounting(newGate(0))
		h.Open(conn, nil)
		want := ""
		for i, n := range []int{1, 1, 2000, 3000, runSize, 5000, runSize - 5000, 1, 3 * runSize, 1} {
			m := sized(string(rune('a'+i)), n)
			want += string(m.Bytes)
			h.Publish(m)
		}
		conn.grantAll()
		synctest.Wait()
		var sizes []int
		for _, w := range *conn.writes {
			sizes = append(sizes, len(w))
		}
		if conn.sent() != want || !slices.Equal(sizes, []int{1, 1, 5000, runSize, runSize, 1, 3 * runSize, 1}) {
			t.Errorf("writes of %v bytes", sizes)
		}
	})
}

func TestWhatIsNotBeingWrittenStillMakesRoomWhileTheConnectionTakesNothing(t *testing.T) {
	bubble(t, Config{Messages: 5}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		for _, m := range strings.Fields("0, 1, 2, 3, 4,") {
			h.Publish(lossy(m))
		}
		g.grant(5) // 0, and 1, are gone, and 2, is begun: 3, and 4, were in hand with it
		synctest.Wait()
		expect(t, "queued", c.Queued.Load(), 3)
		for _, m := range []Message{kept("5,"), kept("6,"), kept("7,"), keyed("k", "8,")} {
			h.Publish(m)
		}
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "0,1,2,5,6,7,8,")
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 2)
	})
}
