package stream

import (
	"fmt"
	"testing"
	"testing/synctest"
	"unsafe"
)

func TestN7_EachOpenStreamHearsEachPublicationInOrder(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		gates := []*gate{openGate(), newGate(0), newGate(7)}
		for _, g := range gates {
			h.Open(g, nil)
		}
		want := ""
		for i := range 100 {
			s := fmt.Sprintf("<%d>", i)
			want += s
			expect(t, "streams", h.Publish(lossy(s)), len(gates))
		}
		for _, g := range gates {
			g.grantAll()
		}
		synctest.Wait()
		for i, g := range gates {
			expect(t, fmt.Sprint("wire ", i), g.sent(), want)
		}
		expect(t, "sent", c.Sent.Load(), 300)
	})
}

func TestN7_AStreamHearsNothingFromBeforeItOpened(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		expect(t, "streams", h.Publish(lossy("before")), 0)
		g := openGate()
		h.Open(g, nil)
		h.Publish(lossy("after"))
		expect(t, "wire", g.sent(), "after")
	})
}

func TestN7_SendIsInOrderWithWhatIsPublished(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g, other := newGate(1), openGate()
		s := h.Open(g, nil)
		h.Open(other, nil)
		h.Publish(lossy("aa"))
		s.Send(lossy("bb"))
		h.Publish(lossy("cc"))
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "aabbcc")
		expect(t, "the other's wire", other.sent(), "aacc")
	})
}

func TestN7_AtMostOnceAlsoWhenTheStreamEndsInTheMiddle(t *testing.T) {
	for room := range 13 {
		bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
			g := newGate(0)
			s := h.Open(g, nil)
			for _, m := range []string{"one.", "two.", "six."} {
				h.Publish(lossy(m))
			}
			g.grant(room)
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

func TestN7_TheSameKeyAddsNothingWhileItIsQueued(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		h.Publish(lossy("first,"))
		for range 5 {
			h.Publish(keyed("tools", "tools,"))
			h.Publish(keyed("r1", "r1,"))
			h.Publish(lossy("log,"))
			h.Publish(keyed("r2", "r2,"))
		}
		expect(t, "coalesced", c.Coalesced.Load(), 12)
		expect(t, "queued", c.Queued.Load(), 9)
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "first,tools,r1,log,r2,log,log,log,log,")
		// It is queued no longer, so it is news again.
		h.Publish(keyed("tools", "tools,"))
		expect(t, "wire", g.sent(), "first,tools,r1,log,r2,log,log,log,log,tools,")
	})
}

func TestN7_WhatIsBeingWrittenIsNotMergedInto(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(2)
		h.Open(g, nil)
		h.Publish(keyed("tools", "tools,"))
		h.Publish(keyed("tools", "tools,"))
		h.Publish(keyed("tools", "tools,"))
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "tools,tools,")
		expect(t, "coalesced", c.Coalesced.Load(), 1)
	})
}

func TestN7_MessagesWithoutAKeyAreNeverMerged(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		g := newGate(0)
		h.Open(g, nil)
		for range 4 {
			h.Publish(lossy("same,"))
		}
		g.grantAll()
		synctest.Wait()
		expect(t, "wire", g.sent(), "same,same,same,same,")
	})
}

func TestN7_OneSlowStreamCostsTheOthersNothing(t *testing.T) {
	bubble(t, Config{Messages: 10}, func(t *testing.T, h *Hub, c *Counters) {
		slow, quick := newGate(0), openGate()
		h.Open(slow, nil)
		h.Open(quick, nil)
		want := ""
		for i := range 1000 {
			s := fmt.Sprintf("<%d>", i)
			want += s
			h.Publish(lossy(s))
		}
		// The quick one has it all without anybody having waited.
		expect(t, "wire", quick.sent(), want)
		expect(t, "queued", c.Queued.Load(), 10)
		expect(t, "dropped", c.Dropped[DropRoom].Load(), 990)
	})
}

func TestN7_AllStreamsShareOnePublicationsBytes(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, h *Hub, c *Counters) {
		m := lossy("shared")
		var streams []*Stream
		for range 3 {
			s := h.Open(newGate(0), nil)
			streams = append(streams, s)
		}
		h.Publish(m)
		h.Publish(m)
		for _, s := range streams {
			s.mu.Lock()
			expect(t, "the one being written", unsafe.SliceData(s.backlog.at(0).Bytes), unsafe.SliceData(m.Bytes))
			expect(t, "the one queued", unsafe.SliceData(s.backlog.at(1).Bytes), unsafe.SliceData(m.Bytes))
			s.mu.Unlock()
		}
	})
}
