package wsock

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/gobwas/ws"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// FuzzIncoming feeds any bytes, cut anywhere: the reader does not panic, holds
// no more than what came, honours the limit, and comes to the same whatever the
// cut.
func FuzzIncoming(f *testing.F) {
	for _, client := range []bool{false, true} {
		var wire []byte
		for _, fr := range []wstest.Frame{
			{Fin: true, Op: wstest.OpBinary, Payload: []byte("one")},
			{Op: wstest.OpBinary, Payload: pattern(130)},
			{Fin: true, Op: wstest.OpPing, Payload: []byte("p")},
			{Fin: true, Payload: []byte("end")},
			{Fin: true, Op: wstest.OpText, Payload: []byte("\xff")},
			{Fin: true, Op: wstest.OpClose, Payload: wstest.CloseBody(1000, "")},
		} {
			fr.Masked = !client
			wire = wstest.AppendFrame(wire, fr)
		}
		f.Add(wire, uint16(7), client, false, uint16(200))
		f.Add(wire, uint16(7), client, true, uint16(200))
		f.Add(wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: !client}, 1<<63-1), uint16(1), client, false, uint16(0))
	}
	f.Fuzz(func(t *testing.T, wire []byte, cut uint16, client, text bool, limit uint16) {
		whole := transcript(t, wire, len(wire), incoming{client: client, text: text, within: noFragments}, int(limit))
		pieces := transcript(t, wire, int(cut)%64+1, incoming{client: client, text: text, within: noFragments}, int(limit))
		if !bytes.Equal(whole, pieces) {
			t.Fatalf("in one piece: %q\nin pieces of %d: %q", whole, cut%64+1, pieces)
		}
	})
}

// longest is what may rest in the pool.
var longest atomic.Int64

// held is how much memory there is for the message.
func (in *incoming) held() (n int) {
	for part := in.message; part != nil; part = part.Before {
		n += cap(part.B)
	}
	return n
}

// transcript is what came of wire, given in pieces of n bytes.
func transcript(t *testing.T, wire []byte, n int, in incoming, limit int) (log []byte) {
	defer in.release()
	arrived := 0
	for wire = bytes.Clone(wire); len(wire) > 0; {
		n := min(n, len(wire))
		p := wire[:n]
		wire = wire[n:]
		arrived += n
		for len(p) > 0 {
			rest, body, ev, bad := in.next(p, limit)
			if bad != nil {
				return append(log, bad.Reason...)
			}
			if len(rest) >= len(p) {
				t.Fatal("a step consumed nothing")
			}
			p = rest
			if held := in.held(); int64(held) > max(int64(2*arrived+2*grain), longest.Load()) {
				t.Fatalf("%d bytes arrived, %d are held", arrived, held)
			}
			switch ev {
			case evMessage, evText:
				b := in.takeMessage()
				longest.Store(max(longest.Load(), int64(cap(b.B))))
				if limit > 0 && len(b.B) > limit {
					t.Fatalf("a message of %d bytes, the limit is %d", len(b.B), limit)
				}
				log = append(append(append(log, "message "...), b.B...), byte(ev), '\n')
				b.Release()
			case evPing, evPong, evClose:
				if len(body) > maxControl {
					t.Fatalf("a control frame of %d bytes", len(body))
				}
				log = append(append(append(log, "control "...), body...), byte(ev), '\n')
				judgeClose(body)
			}
		}
		in.rest()
		if !in.payload && in.within == ws.OpContinuation && in.message != nil {
			t.Fatal("a buffer is held between messages")
		}
	}
	return log
}

// FuzzFrame sends what we make through the peer's reader and our own.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("head"), []byte("body"), true)
	f.Add([]byte(nil), pattern(126), false)
	f.Add(pattern(5), pattern(65536), true)
	f.Fuzz(func(t *testing.T, head, body []byte, client bool) {
		b := appendFrame(nil, client, ws.OpBinary, head, body)
		defer b.Release()
		want := append(bytes.Clone(head), body...)
		in := incoming{client: !client, within: noFragments}
		defer in.release()
		rest, _, ev, bad := in.next(b.B, 0)
		for ev == evNone && bad == nil && len(rest) > 0 {
			rest, _, ev, bad = in.next(rest, 0)
		}
		if ev != evMessage || bad != nil {
			t.Fatal(ev, bad)
		}
		m := in.takeMessage()
		same(t, m.B, want)
		m.Release()
	})
}
