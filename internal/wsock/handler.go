package wsock

import (
	"fmt"

	"github.com/diverge-network/gateway/pkg/codec"
)

// NoStatus is the Code of a clean ending whose Close frame carried no usable
// status (RFC 6455, 7.1.5).
const NoStatus = 1005

// Handler hears what a connection brings. All calls of one connection come
// from one goroutine at a time, in order. They must not block for long: while
// they run nothing is read, pings are not answered, a Close is not seen.
type Handler interface {
	// Message brings one whole binary message, possibly empty. The handler
	// owns b and Releases it. A violation ends the connection abruptly, closed
	// with the violation's code; no further message comes.
	//
	// Text never gets here (protocol W3, and see TextHandler). Messages that were under way when
	// Conn.Close was called still do.
	Message(b *codec.Buffer) *Violation

	// Ended is called exactly once, after the last Message. If the peer closed
	// it comes before our Close is written (protocol W6), so that what it
	// settles is settled before the peer can see the answer.
	Ended(e Ending)
}

// Gatherer is a Handler that does for several messages at once what it does for one.
type Gatherer interface {
	// Lull is called when what has been read brings no more messages for now: before
	// anything is waited for, before a ping is answered, and before Ended, except
	// where a panic led to that. No message may have come since the last one.
	Lull()
}

// Ending is how a connection ended.
type Ending struct {
	// Clean says that a whole Close frame was received while nothing had ended
	// the connection before it, whatever status it carried. Every other ending
	// is abrupt.
	Clean bool

	// Code is the status of the peer's Close, NoStatus if it had none or an
	// invalid one, where the ending is Clean; the status that we closed with
	// after a violation; otherwise 0.
	Code uint16

	// TooBig says that a message exceeded Config.MaxMessage (protocol W9).
	TooBig bool

	// Lingers says that the peer is still read for a while, 1 s at most, so that it
	// sees our Close.
	Lingers bool

	// Cause says why an ending was abrupt: io.EOF when the peer ended TCP
	// without a Close, net.ErrClosed after Cut, os.ErrDeadlineExceeded when our
	// Close was not answered, a *Violation, a *PanicError, or another error of
	// the connection. It is nil when Clean.
	Cause error
}

// PanicError is the cause of an ending that came of a panic in the Handler or
// in this package.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("websocket: the connection's goroutine panicked: %v", e.Value)
}
