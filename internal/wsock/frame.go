package wsock

import (
	"crypto/rand"

	"github.com/gobwas/ws"

	"github.com/diverge-network/gateway/pkg/codec"
)

// appendFrame adds one whole frame, whose payload is head followed by body, to
// b, or to a new buffer if b is nil. It returns the buffer to go on with.
func appendFrame(b *codec.Buffer, client bool, op ws.OpCode, head, body []byte) *codec.Buffer {
	n := len(head) + len(body)
	switch room := ws.MaxHeaderSize + n; {
	case b == nil:
		b = codec.GetBuffer(room)
	case cap(b.B)-len(b.B) < room:
		b = enlarge(b, room)
	}
	b.B = appendHeader(b.B, op, client, n)
	var key [4]byte
	if client {
		rand.Read(key[:])
		b.B = append(b.B, key[:]...)
	}
	at := len(b.B)
	b.B = append(append(b.B, head...), body...)
	if client {
		ws.Cipher(b.B[at:], key, 0)
	}
	return b
}
