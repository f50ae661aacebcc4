package wsock

import (
	"encoding/binary"

	"github.com/gobwas/ws"
)

// header is the header of a frame while its bytes arrive, and afterwards.
type header struct {
	raw  [ws.MaxHeaderSize]byte
	have uint8 // how many bytes of raw have arrived
}

func (h *header) op() ws.OpCode { return ws.OpCode(h.raw[0] & 0x0f) }
func (h *header) fin() bool     { return h.raw[0]&bitFin != 0 }

// size is the length of the whole header. It is known once two bytes are.
func (h *header) size() int {
	n := 2
	switch h.raw[1] &^ bitMask {
	case length16:
		n += 2
	case length64:
		n += 8
	}
	if h.raw[1]&bitMask != 0 {
		n += 4
	}
	return n
}

// fill takes bytes from p until it has n in all, and returns what it left.
func (h *header) fill(p []byte, n int) []byte {
	took := copy(h.raw[h.have:n], p)
	h.have += uint8(took)
	return p[took:]
}

// check judges the first two bytes: all that can be wrong in a frame by itself
// but its length. Client says that we are the client.
func (h *header) check(client bool) *Violation {
	op := h.op()
	switch {
	case h.raw[0]&bitsRSV != 0:
		return errReservedBits
	case !known(op):
		return errReservedOpcode
	case op.IsControl() && !h.fin():
		return errFragmentedCtl
	case op.IsControl() && h.raw[1]&^bitMask > maxControl:
		return errLongCtl
	}
	masked := h.raw[1]&bitMask != 0
	switch {
	case client && masked:
		return errMasked
	case !client && !masked:
		return errUnmasked
	}
	return nil
}

// length is the declared length of the payload, negative when its top bit is
// set.
func (h *header) length() int64 {
	switch n := h.raw[1] &^ bitMask; n {
	case length16:
		return int64(binary.BigEndian.Uint16(h.raw[2:]))
	case length64:
		return int64(binary.BigEndian.Uint64(h.raw[2:]))
	default:
		return int64(n)
	}
}

// mask is the masking key, all zero for a frame that has none.
func (h *header) mask() (key [4]byte) {
	if h.raw[1]&bitMask != 0 {
		copy(key[:], h.raw[h.size()-4:])
	}
	return key
}

// appendHeader appends the header of one whole frame without its masking key.
func appendHeader(dst []byte, op ws.OpCode, masked bool, n int) []byte {
	var mask byte
	if masked {
		mask = bitMask
	}
	first := bitFin | byte(op)
	switch {
	case n < length16:
		return append(dst, first, mask|byte(n))
	case n <= 0xffff:
		return append(dst, first, mask|length16, byte(n>>8), byte(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, first, mask|length64), uint64(n))
	}
}
