package main

import (
	"unicode/utf8"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// maxMessage is what the gateway accepts by default; the suite's largest message has 16 MiB.
const maxMessage = 64 << 20

// invalidText is RFC 6455's answer to text that is not UTF-8.
var invalidText = &wsock.Violation{Code: 1007, Reason: "the text is not UTF-8"}

// echo sends back what it hears: what the suite wants of both ends.
type echo struct {
	conn  *wsock.Conn
	ended chan wsock.Ending // holds one
}

var _ wsock.TextHandler = (*echo)(nil)

func newEcho(c *wsock.Conn) *echo { return &echo{conn: c, ended: make(chan wsock.Ending, 1)} }

// Message implements wsock.Handler.
func (e *echo) Message(b *codec.Buffer) *wsock.Violation {
	e.conn.Append(nil, b.B)
	b.Release()
	e.conn.Flush()
	return nil
}

// Text implements wsock.TextHandler.
func (e *echo) Text(b *codec.Buffer) *wsock.Violation {
	defer b.Release()
	if !utf8.Valid(b.B) {
		return invalidText
	}
	e.conn.AppendText(b.B)
	e.conn.Flush()
	return nil
}

// Ended implements wsock.Handler.
func (e *echo) Ended(end wsock.Ending) { e.ended <- end }
