package wsock

import "github.com/gobwas/ws"

// The bits of a header's first two bytes that are not opcode or length.
const (
	bitFin  = 0x80
	bitsRSV = 0x70
	bitMask = 0x80
)

// Marks in the seven bits of a header's length: the length stands in the next
// two or eight bytes.
const (
	length16 = 126
	length64 = 127
)

// maxControl is the longest payload of a control frame, in bytes.
const maxControl = 125

// maxReason is the longest reason of a Close frame, in bytes: its status takes
// two.
const maxReason = maxControl - 2

// noFragments stands for "no fragmented message is under way": a continuation
// cannot start one.
const noFragments = ws.OpContinuation

func known(op ws.OpCode) bool {
	switch op {
	case ws.OpContinuation, ws.OpText, ws.OpBinary, ws.OpClose, ws.OpPing, ws.OpPong:
		return true
	}
	return false
}
