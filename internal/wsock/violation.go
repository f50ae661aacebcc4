package wsock

import (
	"fmt"

	"github.com/gobwas/ws"
)

// Violation is what a peer did that ends its connection: the connection is
// closed with Code and Reason, and its ending is abrupt. Reason is text of at
// most 123 bytes.
type Violation struct {
	Code   uint16
	Reason string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("websocket: the peer broke the protocol (%d): %s", v.Code, v.Reason)
}

// The violations of RFC 6455 itself.
var (
	errReservedBits   = violation("a reserved bit is set")
	errReservedOpcode = violation("the opcode is reserved")
	errFragmentedCtl  = violation("a control frame is fragmented")
	errLongCtl        = violation("a control frame is over 125 bytes")
	errUnmasked       = violation("a client's frame is not masked")
	errMasked         = violation("a server's frame is masked")
	errNoStart        = violation("a continuation without a message")
	errInterleaved    = violation("a message inside a fragmented message")
	errLengthTopBit   = violation("the length has its top bit set")

	// errTooBig is told apart by its address (protocol W9).
	errTooBig = &Violation{Code: uint16(ws.StatusMessageTooBig), Reason: "the message is too big"}
)

func violation(reason string) *Violation {
	return &Violation{Code: uint16(ws.StatusProtocolError), Reason: reason}
}
