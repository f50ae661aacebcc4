package wsock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// FuzzConnection has a whole connection read any bytes, in pieces of any size,
// and compares what its handler hears with what RFC 6455, read naively, says of
// the same bytes.
func FuzzConnection(f *testing.F) {
	for _, client := range []bool{false, true} {
		long := wstest.AppendFrame(nil, wstest.Frame{Op: wstest.OpBinary, Masked: !client, Payload: pattern(grain + 1)})
		long = wstest.AppendFrame(long, wstest.Frame{Fin: true, Masked: !client, Payload: pattern(3 * grain)})
		f.Add(long, uint16(900), client, true, uint32(0))
		f.Add(long, uint16(9000), client, false, uint32(2*grain))
		var mixed []byte
		for _, fr := range []wstest.Frame{
			{Fin: true, Op: wstest.OpText, Payload: []byte("text")},
			{Op: wstest.OpText, Payload: []byte("be")},
			{Fin: true, Op: wstest.OpPing, Payload: []byte("tween")},
			{Payload: nil},
			{Fin: true, Payload: []byte("gin")},
			{Fin: true, Op: wstest.OpBinary, Payload: pattern(200)},
			{Fin: true, Op: wstest.OpPong},
			{Fin: true, Op: wstest.OpClose, Payload: wstest.CloseBody(3000, "why")},
			{Fin: true, Op: wstest.OpBinary, Payload: []byte("too late")},
		} {
			fr.Masked = !client
			mixed = wstest.AppendFrame(mixed, fr)
		}
		f.Add(mixed, uint16(5), client, true, uint32(0))
		f.Add(mixed, uint16(64), client, false, uint32(100))
	}
	f.Fuzz(func(t *testing.T, wire []byte, cut uint16, client, text bool, limit uint32) {
		cfg := &Config{Client: client, MaxMessage: int(limit), OnPanic: func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) }}
		c := New(&script{wire: bytes.Clone(wire), cut: int(cut) + 1}, nil, cfg)
		var got transcription
		if text {
			c.Run(&got)
		} else {
			c.Run(struct{ Handler }{&got}) // is no TextHandler
		}
		if want := naively(wire, client, text, int(limit)); !bytes.Equal(got.log, want) {
			t.Fatalf("got\n%q\nwanted\n%q", got.log, want)
		}
	})
}

// script is a connection that brings some bytes and takes all.
type script struct {
	net.Conn
	wire []byte
	cut  int // how many bytes at most come at once
}

func (s *script) Read(p []byte) (n int, err error) {
	n = copy(p, s.wire[:min(s.cut, len(s.wire))])
	s.wire = s.wire[n:]
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (s *script) Write(p []byte) (int, error)      { return len(p), nil }
func (s *script) Close() error                     { return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// transcription is a TextHandler that writes down what it hears.
type transcription struct{ log []byte }

func (r *transcription) Message(b *codec.Buffer) *Violation {
	r.log = fmt.Appendf(r.log, "binary %x\n", b.B)
	b.Release()
	return nil
}

func (r *transcription) Text(b *codec.Buffer) *Violation {
	r.log = fmt.Appendf(r.log, "text %x\n", b.B)
	b.Release()
	return nil
}

func (r *transcription) Ended(e Ending) {
	r.log = fmt.Appendf(r.log, "clean %t, code %d, too big %t, cut off %t\n", e.Clean, e.Code, e.TooBig, errors.Is(e.Cause, io.EOF))
}

// naively is the transcription that there should be.
func naively(wire []byte, client, text bool, limit int) (log []byte) {
	ends := func(clean bool, code int, tooBig, cutOff bool) []byte {
		return fmt.Appendf(log, "clean %t, code %d, too big %t, cut off %t\n", clean, code, tooBig, cutOff)
	}
	cutOff := func() []byte { return ends(false, 0, false, true) }
	violation := func() []byte { return ends(false, 1002, false, false) }

	var message []byte
	kind := byte(0) // of the message under way; 0: none
	for {
		if len(wire) < 2 {
			return cutOff()
		}
		fin, op, masked := wire[0]&0x80 != 0, wire[0]&0x0f, wire[1]&0x80 != 0
		length, rest := uint64(wire[1]&0x7f), wire[2:]
		switch control := op >= 8; {
		case wire[0]&0x70 != 0, op > 2 && op < 8, op > 10, masked == client,
			control && (!fin || length > 125),
			op == 0 && kind == 0,
			!control && op != 0 && kind != 0:
			return violation()
		}
		if extended := map[uint64]int{126: 2, 127: 8}[length]; extended > len(rest) {
			return cutOff()
		} else if extended > 0 {
			length = binary.BigEndian.Uint64(append(make([]byte, 8-extended), rest[:extended]...))
			rest = rest[extended:]
		}
		var key []byte
		if masked {
			if len(rest) < 4 {
				return cutOff()
			}
			key, rest = rest[:4], rest[4:]
		}
		if op == 1 || op == 2 {
			kind, message = op, nil
		}
		heard := op < 8 && (kind == 2 || text)
		switch {
		case length >= 1<<63:
			return violation()
		case heard && limit > 0 && length > uint64(limit-len(message)):
			return ends(false, 1009, true, false)
		case length > uint64(len(rest)):
			return cutOff()
		}
		payload := bytes.Clone(rest[:length])
		wire = rest[length:]
		for i := range payload {
			if masked {
				payload[i] ^= key[i%4]
			}
		}
		switch {
		case op == 8:
			return ends(true, statusOf(payload), false, false)
		case op > 8:
			continue
		case heard:
			message = append(message, payload...)
		}
		if fin {
			if heard {
				log = fmt.Appendf(log, "%s %x\n", map[byte]string{1: "text", 2: "binary"}[kind], message)
			}
			kind, message = 0, nil
		}
	}
}

// statusOf is the status of a Close with this body, or 1005 if it has none that
// may be sent.
func statusOf(body []byte) int {
	if len(body) < 2 {
		return 1005
	}
	switch code := int(binary.BigEndian.Uint16(body)); {
	case code >= 1000 && code <= 1014 && (code < 1004 || code > 1006), code >= 3000 && code < 5000:
		return code
	}
	return 1005
}
