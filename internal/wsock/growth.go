package wsock

import "github.com/diverge-network/gateway/pkg/codec"

// grain is the unit in which room for a message grows, in bytes, and the least
// that is worth reading without a detour through a read buffer.
//
// Invariant: the room for a message is at most twice what has arrived of it
// plus two grains, or the pool's smallest buffer, whatever length was declared
// (protocol W9).
const grain = 4 << 10

// arrived is how many bytes of the message under way are here.
func (in *incoming) arrived() int {
	if in.message == nil {
		return 0
	}
	return len(in.message.B)
}

// room sees to it that n bytes, which have arrived, can be added to the
// message.
func (in *incoming) room(n int) {
	switch {
	case in.message == nil:
		in.message = codec.GetBuffer(n)
	case cap(in.message.B)-len(in.message.B) < n:
		in.message = enlarge(in.message, n)
	}
}

// spare is room in the message that the payload under way can be read straight
// into; filled must be told how much was. It is nil when the payload is short,
// or not held.
func (in *incoming) spare() []byte {
	if !in.payload || in.left < grain || !in.holds() {
		return nil
	}
	in.room(grain)
	b := in.message.B
	return b[len(b):min(int64(cap(b)), int64(len(b))+in.left)]
}

// filled takes n bytes that were read into spare.
func (in *incoming) filled(n int) event {
	in.message.B = in.message.B[:len(in.message.B)+n]
	return in.added(n)
}

// added takes the message's last n bytes as payload.
func (in *incoming) added(n int) event {
	in.unmask(in.message.B[len(in.message.B)-n:])
	return in.advance(n)
}

// enlarge moves b's bytes to a buffer with room for n more, at least twice the
// size.
func enlarge(b *codec.Buffer, n int) *codec.Buffer {
	bigger := codec.GetBuffer(max(len(b.B)+n, 2*cap(b.B)))
	bigger.B = append(bigger.B, b.B...)
	b.Release()
	return bigger
}
