package wsock

import (
	"github.com/gobwas/ws"

	"github.com/diverge-network/gateway/pkg/codec"
)

// grain is the unit in which room for a message grows, in bytes, and the least
// that is worth reading without a detour through a read buffer.
//
// Invariant: the memory that is allocated for a message is at most twice what has
// arrived of it plus two grains, whatever length was declared (protocol W9). What
// rests in the pool may be had at once: an earlier message has grown it.
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
	have := in.arrived()
	if in.message != nil && cap(in.message.B)-have >= n {
		return
	}
	whole := have + int(min(in.left, farthest)) // as far as it is declared
	bigger := codec.RestedFrame(whole)
	if bigger == nil {
		// A buffer is at most a quarter larger than what is asked for.
		most := (2*have+2*grain)*4/5 - codec.FrameRoom
		bigger = codec.GetFrame(max(have+n, min(whole, most)))
	}
	if in.message != nil {
		bigger.B = append(bigger.B, in.message.B...)
		in.message.Release()
	}
	in.message = bigger
}

// farthest keeps a sum of lengths from overflowing.
const farthest = 1 << 40

// spare is room in the message that the payload under way can be read straight
// into; filled must be told how much was. It is nil when the payload is short,
// or no binary one.
func (in *incoming) spare() []byte {
	if !in.payload || in.left < grain || in.kind() != ws.OpBinary {
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
