//go:build linux

package load

import (
	"fmt"

	"github.com/diverge-network/gateway/bench/wire"
)

// sink hears frames and counts them.
type sink struct {
	far   wire.Far
	tally *tally
}

// AddSink counts the frames that arrive on p, which may have begun.
func (c *Crew) AddSink(p wire.Peer) error {
	s := &sink{tally: c.at(int(p))}
	s.far.User = s
	return s.tally.loop.Adopt(&s.far, p)
}

// Arrived implements wire.User.
func (s *sink) Arrived(_ *wire.Far, b []byte) (done int, err error) {
	n := int64(0)
	for rest := b; ; n++ {
		op, _, after, ok := wire.Unframe(rest)
		if !ok {
			s.tally.done.Add(n)
			return len(b) - len(rest), nil
		}
		if op != wire.OpBinary {
			return 0, fmt.Errorf("a frame of opcode %d", op)
		}
		rest = after
	}
}

// Ended implements wire.User.
func (s *sink) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("the frames ended: %v", cause)
}

// drain reads what is sent and forgets it.
type drain struct{ far wire.Far }

// AddDrain reads what p brings, which stays the caller's, and forgets it.
func (c *Crew) AddDrain(p wire.Peer) error {
	second, err := p.Second()
	if err != nil {
		return err
	}
	d := new(drain)
	d.far.User = d
	return c.Loops[0].Adopt(&d.far, second)
}

// Arrived implements wire.User.
func (*drain) Arrived(_ *wire.Far, b []byte) (int, error) { return len(b), nil }

// Ended implements wire.User.
func (*drain) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("the connection ended: %v", cause)
}
