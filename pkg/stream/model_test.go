package stream

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// model is one stream as a naive list: the first message may be partly written.
type model struct {
	messages, bytes int // bounds
	room            int
	wire            []byte
	waiting         []Message
	written         int // of waiting[0]
	closed          bool
	last            bool        // the last message was given
	reason          CloseReason // for which it is closed, or will be after the last
	sent, merged    uint64
	dropped         [DropReasonCount]uint64
}

func (m *model) size() (n int) {
	for _, w := range m.waiting {
		n += len(w.Bytes)
	}
	return n
}

func (m *model) drain() {
	for len(m.waiting) > 0 {
		rest := m.waiting[0].Bytes[m.written:]
		n := min(m.room, len(rest))
		m.room -= n
		m.wire = append(m.wire, rest[:n]...)
		m.written += n
		if n < len(rest) {
			return
		}
		m.waiting, m.written = m.waiting[1:], 0
		m.sent++
	}
	if m.last {
		m.close(m.reason)
	}
}

func (m *model) close(reason CloseReason) {
	if m.closed {
		return
	}
	m.closed, m.reason = true, reason
	m.dropped[DropClosed] += uint64(len(m.waiting))
	m.waiting, m.written = nil, 0
}

func (m *model) closeAfter(n Message, reason CloseReason) {
	if m.closed || m.last {
		return
	}
	m.last, m.reason = true, reason
	n.Keep, n.Key = true, ""
	m.take(n)
	m.drain()
}

func (m *model) give(n Message) bool { return !m.closed && !m.last && m.take(n) }

func (m *model) take(n Message) bool {
	if len(n.Bytes) == 0 {
		m.sent++
		return true
	}
	if len(n.Bytes) > m.bytes {
		m.dropped[DropTooBig]++
		if n.Keep || n.Key != "" {
			m.close(CloseTooBig)
		}
		return false
	}
	for i, w := range m.waiting {
		if i > 0 && n.Key != "" && w.Key == n.Key {
			m.merged++
			return true
		}
	}
	fits := func(queue []Message) bool {
		size := 0
		for _, w := range queue {
			size += len(w.Bytes)
		}
		return len(queue) <= m.messages && size <= m.bytes
	}
	queue := append(append([]Message(nil), m.waiting...), n)
	lost := 0
	for !fits(queue) {
		i := 1
		for i < len(queue)-1 && (queue[i].Keep || queue[i].Key != "") {
			i++
		}
		if i >= len(queue)-1 { // only the newcomer is left
			if n.Keep || n.Key != "" {
				m.dropped[DropClosed]++
				m.close(CloseFull)
			} else {
				m.dropped[DropRoom]++
			}
			return false
		}
		queue = append(queue[:i:i], queue[i+1:]...)
		lost++
	}
	m.dropped[DropRoom] += uint64(lost)
	m.waiting = queue
	m.drain()
	return true
}

// giveAll is for messages that came together.
func (m *model) giveAll(all []Message) (took bool) {
	if m.closed || m.last {
		return false
	}
	var distinct []Message
	size, fits := 0, true
	for _, n := range all {
		if n.Key != "" && slices.ContainsFunc(distinct, func(have Message) bool { return have.Key == n.Key }) {
			m.merged++
			continue
		}
		distinct = append(distinct, n)
		size += len(n.Bytes)
		fits = fits && len(n.Bytes) > 0
	}
	if len(m.waiting) == 0 && fits && len(distinct) <= m.messages && size <= m.bytes {
		m.waiting = distinct
		m.drain()
		return len(distinct) > 0
	}
	for _, n := range distinct {
		took = !m.closed && m.take(n) || took
	}
	return took
}

func TestAStreamDoesWhatANaiveQueueDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Without its Deadline, which a bubble does not have.
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			counters := new(Counters)
			m := &model{
				messages: rapid.IntRange(1, 8).Draw(t, "messages"),
				bytes:    rapid.IntRange(1, 80).Draw(t, "bytes"),
			}
			h := NewHub(&Config{Messages: m.messages, Bytes: m.bytes, Counters: counters})
			g, why := newGate(0), newReasons()
			s := h.Open(g, why.told)
			serial := byte(0)
			give := func(t *rapid.T) Message {
				serial++
				return Message{
					Bytes: bytes.Repeat([]byte{serial}, rapid.IntRange(0, 15).Draw(t, "size")),
					Key:   rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(t, "key"),
					Keep:  rapid.IntRange(0, 3).Draw(t, "keep") == 0,
				}
			}
			t.Repeat(map[string]func(*rapid.T){
				"publish": func(t *rapid.T) {
					n := give(t)
					if got, want := h.Publish(n) == 1, m.give(n); got != want {
						t.Fatalf("taken %v, want %v", got, want)
					}
				},
				"send": func(t *rapid.T) {
					n := give(t)
					if got, want := s.Send(n), m.give(n); got != want {
						t.Fatalf("taken %v, want %v", got, want)
					}
				},
				"publish a batch": func(t *rapid.T) {
					b, all := new(Batch), make([]Message, rapid.IntRange(0, 5).Draw(t, "messages"))
					for i := range all {
						all[i] = give(t)
						b.Add(all[i])
					}
					if got, want := h.PublishBatch(b) == 1, m.giveAll(all); got != want {
						t.Fatalf("taken %v, want %v", got, want)
					}
				},
				"grant": func(t *rapid.T) {
					n := rapid.IntRange(0, 30).Draw(t, "room")
					g.grant(n)
					m.room += n
					m.drain()
				},
				"close": func(t *rapid.T) {
					if rapid.IntRange(0, 9).Draw(t, "sure") == 0 {
						s.Close(CloseLeft)
						m.close(CloseLeft)
					}
				},
				"close after": func(t *rapid.T) {
					if rapid.IntRange(0, 4).Draw(t, "sure") == 0 {
						n := give(t)
						s.CloseAfter(n, CloseEnded)
						m.closeAfter(n, CloseEnded)
					}
				},
				"": func(t *rapid.T) {
					synctest.Wait()
					if err := m.differs(s, g, counters); err != nil {
						t.Fatal(err)
					}
				},
			})
			h.Close(CloseShutdown)
			synctest.Wait()
			if len(why) != 1 {
				t.Fatalf("the callback was told %d times", len(why))
			}
		})
	})
}

func (m *model) differs(s *Stream, g *gate, c *Counters) error {
	if g.sent() != string(m.wire) {
		return fmt.Errorf("on the wire: %q, want %q", g.sent(), m.wire)
	}
	reason, closed := s.Closed()
	if closed != m.closed || closed && reason != m.reason {
		return fmt.Errorf("closed %v (%v), want %v (%v)", closed, reason, m.closed, m.reason)
	}
	if q, b := c.Queued.Load(), c.QueuedBytes.Load(); q != int64(len(m.waiting)) || b != int64(m.size()) {
		return fmt.Errorf("%d queued of %d bytes, want %d of %d", q, b, len(m.waiting), m.size())
	}
	if !closed && flushing(s) != (len(m.waiting) > 0) {
		return fmt.Errorf("flushing %v with %d waiting", flushing(s), len(m.waiting))
	}
	if sent, merged := c.Sent.Load(), c.Coalesced.Load(); sent != m.sent || merged != m.merged {
		return fmt.Errorf("%d sent and %d merged, want %d and %d", sent, merged, m.sent, m.merged)
	}
	for r := range m.dropped {
		if got := c.Dropped[r].Load(); got != m.dropped[r] {
			return fmt.Errorf("%d dropped (%v), want %d", got, DropReason(r), m.dropped[r])
		}
	}
	return nil
}
