package wsock

import (
	"github.com/gobwas/ws"

	"github.com/diverge-network/gateway/pkg/codec"
)

// event is what a step through the incoming bytes came upon.
type event uint8

const (
	evNone    event = iota // nothing to act on yet
	evMessage              // a whole binary message: take it with takeMessage
	evText                 // a whole text message, likewise; only if text is heard
	evPing                 // the payload is in body
	evPong
	evClose // the payload is in body
)

// incoming makes messages of the bytes that arrive: text that nobody hears is
// skipped without being held (protocol W3), fragments are joined, control
// frames come out between them. It is not safe for concurrent use. Between
// messages it holds no buffer.
type incoming struct {
	message *codec.Buffer // the message that is held so far, in parts mostly if it is long; nil before its first frame
	control *codec.Buffer // the control payload so far, when it came in pieces
	left    int64         // bytes of the frame's payload still to come
	head    header        // of the frame under way
	payload bool          // the header is whole, and its payload is under way
	within  ws.OpCode     // the kind of the fragmented message under way, or noFragments
	phase   uint8         // where in the masking key the next byte of payload falls
	client  bool          // we are the client: frames come unmasked
	text    bool          // text is heard, and held as binary messages are
	bounds  RoomHandler   // of what messages hold; nil: nobody
}

// next takes a step through p and returns what it left of it. Body, the payload
// of a ping or a Close, is borrowed until the next call. P may be changed by
// unmasking. After a violation it must not be called again. Limit is the
// longest message accepted, in bytes; 0 or less accepts any.
func (in *incoming) next(p []byte, limit int) (rest, body []byte, ev event, bad *Violation) {
	in.rest()
	if !in.payload {
		if p, bad = in.header(p, limit); bad != nil || !in.payload {
			return p, nil, evNone, bad
		}
	}
	n := int(min(in.left, int64(len(p))))
	switch {
	case in.head.op().IsControl():
		body, ev = in.takeControl(p[:n])
	case in.holds():
		if n, bad = in.room(n); bad != nil {
			return p, nil, evNone, bad
		}
		in.message.B = append(in.message.B, p[:n]...)
		ev = in.added(n)
	default:
		ev = in.advance(n)
	}
	return p[n:], body, ev, nil
}

// header takes what p has of a header, and judges it as early as it can.
func (in *incoming) header(p []byte, limit int) (rest []byte, bad *Violation) {
	h := &in.head
	if h.have < 2 {
		if p = h.fill(p, 2); h.have < 2 {
			return p, nil
		}
		if bad := in.judge(); bad != nil {
			return p, bad
		}
	}
	if p = h.fill(p, h.size()); int(h.have) < h.size() {
		return p, nil
	}
	in.left = h.length()
	switch {
	case in.left < 0:
		return p, errLengthTopBit
	case limit > 0 && in.holds() && in.left > int64(limit-in.arrived()):
		return p, errTooBig
	}
	in.payload = true
	in.phase = 0
	return p, nil
}

// judge checks the header's first two bytes, by themselves and against the
// message under way.
func (in *incoming) judge() *Violation {
	if bad := in.head.check(in.client); bad != nil {
		return bad
	}
	switch op := in.head.op(); {
	case op == ws.OpContinuation && in.within == noFragments:
		return errNoStart
	case (op == ws.OpText || op == ws.OpBinary) && in.within != noFragments:
		return errInterleaved
	}
	return nil
}

// kind is what the frame under way belongs to: its own opcode, or that of the
// message it continues.
func (in *incoming) kind() ws.OpCode {
	if op := in.head.op(); op != ws.OpContinuation {
		return op
	}
	return in.within
}

// advance notes that n bytes of payload have come, and ends the frame with the
// last.
func (in *incoming) advance(n int) event {
	in.left -= int64(n)
	if in.left > 0 {
		return evNone
	}
	kind, op, fin := in.kind(), in.head.op(), in.head.fin()
	in.payload = false
	in.head.have = 0
	switch {
	case op.IsControl():
		return controlEvent(op)
	case !fin:
		in.within = kind
		return evNone
	}
	in.within = noFragments
	return in.wholeEvent(kind)
}

func controlEvent(op ws.OpCode) event {
	switch op {
	case ws.OpPing:
		return evPing
	case ws.OpPong:
		return evPong
	default:
		return evClose
	}
}

// takeControl takes a piece of a control frame's payload. A payload in one
// piece is not copied.
func (in *incoming) takeControl(chunk []byte) (body []byte, ev event) {
	if whole := int64(len(chunk)) == in.left; whole && in.control == nil {
		in.unmask(chunk)
		return chunk, in.advance(len(chunk))
	}
	if in.control == nil {
		in.control = codec.GetBuffer(maxControl)
	}
	in.unmask(chunk)
	in.control.B = append(in.control.B, chunk...)
	if ev = in.advance(len(chunk)); ev != evNone {
		body = in.control.B
	}
	return body, ev
}

// unmask deciphers the next bytes of the payload.
func (in *incoming) unmask(b []byte) {
	if in.client {
		return
	}
	ws.Cipher(b, in.head.mask(), int(in.phase))
	in.phase = uint8((int(in.phase) + len(b)) & 3)
}

// underway says that a frame has begun and not ended.
func (in *incoming) underway() bool { return in.payload || in.head.have > 0 }

// pending says that a frame has begun of which nothing is known that counts as
// something heard: it may turn out to be a pong.
func (in *incoming) pending() bool {
	return in.head.have > 0 && (!in.payload || in.head.op().IsControl())
}

// rest gives back what the last step lent.
func (in *incoming) rest() {
	if in.control != nil && !in.payload {
		in.control.Release()
		in.control = nil
	}
}

// release gives back every buffer; nothing may be taken afterwards.
func (in *incoming) release() {
	in.payload = false
	in.head.have = 0
	in.rest()
	in.drop()
}
