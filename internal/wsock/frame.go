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
		b = enlarged(b, room)
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

// enlarged moves b's bytes to a buffer with room for n more, at least twice the
// size.
func enlarged(b *codec.Buffer, n int) *codec.Buffer {
	bigger := codec.GetBuffer(max(len(b.B)+n, 2*cap(b.B)))
	bigger.B = append(bigger.B, b.B...)
	b.Release()
	return bigger
}
