package wsock

import (
	"github.com/gobwas/ws"

	"github.com/diverge-network/gateway/pkg/codec"
)

// TextHandler is a Handler that hears text too. On a connection whose Handler
// is none, text is skipped without being held (protocol W3): so it is on every
// path of the protocol. What is one is the echo that the Autobahn suite tries.
type TextHandler interface {
	Handler

	// Text is Message for a text message. Whether its bytes are UTF-8 is not
	// looked at: a handler that minds returns a violation with 1007.
	Text(b *codec.Buffer) *Violation
}

// AppendText is Append for a text message.
func (c *Conn) AppendText(payload []byte) { c.queue(ws.OpText, nil, payload, nil) }

// holds says that the frame under way belongs to a message that somebody hears.
func (in *incoming) holds() bool {
	kind := in.kind()
	return kind == ws.OpBinary || kind == ws.OpText && in.text
}

// wholeEvent is what the end of a message of this kind is.
func (in *incoming) wholeEvent(kind ws.OpCode) event {
	switch {
	case kind == ws.OpBinary:
		return evMessage
	case in.text:
		return evText
	}
	return evNone
}

// heardText hands over the text message that evText announced.
func (c *Conn) heardText() *Violation { return c.handler.(TextHandler).Text(c.in.takeMessage()) }
