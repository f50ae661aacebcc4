package wsock

import "github.com/diverge-network/gateway/pkg/codec"

// grain is the unit in which room for a message grows, in bytes, and the least
// that is worth reading without a detour through a read buffer.
//
// Invariant: the memory that is allocated for a message is at most twice what has
// arrived of it plus two grains, whatever length was declared (protocol W9). What
// rests in the pool may be had at once: an earlier message has grown it.
const grain = 4 << 10

// arrived is how many bytes of the message under way are here.
func (in *incoming) arrived() (n int) {
	for part := in.message; part != nil; part = part.Before {
		n += len(part.B)
	}
	return n
}

// room sees to it that more can be added to the message, and returns how much of
// the n bytes that have arrived, or are about to.
func (in *incoming) room(n int) (int, *Violation) {
	if in.message == nil || cap(in.message.B) == len(in.message.B) {
		if bad := in.enlarge(); bad != nil {
			return 0, bad
		}
	}
	return min(n, cap(in.message.B)-len(in.message.B)), nil
}

func (in *incoming) enlarge() *Violation {
	have := in.arrived()
	whole := have + int(min(in.left, farthest)) // as far as it is declared
	if all := codec.RestedFrame(whole); all != nil {
		return in.join(all)
	}
	// A buffer is at most a quarter larger than what is asked for.
	enough := (whole+codec.FrameRoom)*5/8 - grain
	switch {
	case have >= enough:
		return in.join(codec.GetFrame(whole))
	case in.message == nil:
		return in.join(codec.GetFrame(grain))
	}
	part := codec.GetBuffer(min(have*4/5, enough-have)) // too early for the whole
	if bad := in.bound(part); bad != nil {
		return bad
	}
	part.Before, in.message = in.message, part
	return nil
}

// bound has the handler say whether b may be held, and gives it back if not.
func (in *incoming) bound(b *codec.Buffer) *Violation {
	if in.bounds == nil {
		return nil
	}
	bad := in.bounds.Room(b)
	if bad != nil {
		b.Release()
	}
	return bad
}

// farthest keeps a sum of lengths from overflowing.
const farthest = 1 << 40

// join moves what has arrived of the message to all, where the rest goes too.
func (in *incoming) join(all *codec.Buffer) *Violation {
	in.bequeath(all)
	if bad := in.bound(all); bad != nil {
		return bad
	}
	in.copyTo(all)
	return nil
}

// bequeath has all be charged with what the message was charged with.
func (in *incoming) bequeath(all *codec.Buffer) {
	for part := in.message; part != nil; part = part.Before {
		all.Inherit(part)
	}
}

func (in *incoming) copyTo(all *codec.Buffer) {
	n := in.arrived()
	all.B = all.B[:n]
	for part := in.message; part != nil; {
		n -= copy(all.B[n-len(part.B):], part.B)
		before := part.Before
		part.Release()
		part = before
	}
	in.message = all
}

// takeMessage hands over the message that evMessage announced.
func (in *incoming) takeMessage() *codec.Buffer {
	if in.message.Before != nil {
		all := codec.GetFrame(in.arrived())
		in.bequeath(all)
		in.copyTo(all)
	}
	b := in.message
	in.message = nil
	return b
}

// drop gives up the message under way.
func (in *incoming) drop() {
	for in.message != nil {
		before := in.message.Before
		in.message.Release()
		in.message = before
	}
}

// spare is room in the message that the payload under way can be read straight
// into; filled must be told how much was. It is nil when the payload is short,
// or not held.
func (in *incoming) spare() ([]byte, *Violation) {
	if !in.payload || in.left < grain || !in.holds() {
		return nil, nil
	}
	n, bad := in.room(int(min(in.left, farthest)))
	if bad != nil {
		return nil, bad
	}
	b := in.message.B
	return b[len(b) : len(b)+n], nil
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
