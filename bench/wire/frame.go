package wire

import "encoding/binary"

// Opcodes of RFC 6455.
const (
	OpBinary = 0x2
	OpClose  = 0x8
	OpPing   = 0x9
	OpPong   = 0xa
)

// maskKey masks what the far ends send. RFC 6455 wants a fresh one for each frame; what it costs to undo is the same.
var maskKey = [4]byte{0x5a, 0xc3, 0x17, 0xe8}

// AppendFrame appends one masked frame.
func AppendFrame(dst []byte, op byte, payload []byte) []byte {
	dst = append(appendLength(append(dst, 0x80|op), 0x80, len(payload)), maskKey[:]...)
	for i, b := range payload {
		dst = append(dst, b^maskKey[i&3])
	}
	return dst
}

// AppendServerFrame appends one unmasked frame, as servers send them.
func AppendServerFrame(dst []byte, op byte, payload []byte) []byte {
	return append(appendLength(append(dst, 0x80|op), 0, len(payload)), payload...)
}

func appendLength(dst []byte, bit byte, n int) []byte {
	switch {
	case n < 126:
		return append(dst, bit|byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, bit|126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, bit|127), uint64(n))
	}
}

// AppendClose appends a masked Close of status 1000.
func AppendClose(dst []byte) []byte { return AppendFrame(dst, OpClose, []byte{0x03, 0xe8}) }

// Answer is the frames of one answer path: a binary message with the tag of a result, and a Close.
func Answer(result []byte) []byte {
	return AppendClose(AppendFrame(nil, OpBinary, append([]byte{0}, result...)))
}

// Unframe splits the first whole unmasked frame off b.
func Unframe(b []byte) (op byte, payload, rest []byte, ok bool) {
	if len(b) < 2 {
		return 0, nil, b, false
	}
	n, at := int(b[1]), 2
	switch {
	case n == 126 && len(b) >= 4:
		n, at = int(binary.BigEndian.Uint16(b[2:])), 4
	case n == 127 && len(b) >= 10:
		n, at = int(binary.BigEndian.Uint64(b[2:])), 10
	case n >= 126:
		return 0, nil, b, false
	}
	if len(b) < at+n {
		return 0, nil, b, false
	}
	return b[0] & 0x0f, b[at : at+n], b[at+n:], true
}

// Framed tells whether b holds a whole frame of that opcode.
func Framed(wanted byte) func([]byte) bool {
	return func(b []byte) bool {
		for {
			op, _, rest, ok := Unframe(b)
			if !ok || op == wanted {
				return ok
			}
			b = rest
		}
	}
}
