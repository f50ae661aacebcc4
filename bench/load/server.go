//go:build linux

package load

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/diverge-network/gateway/bench/wire"
)

// Server is a container's server: it hears the asks on /requests and answers each on its own path, as many at once as there
// are asks, all with the same result. It holds no connection but /requests until asked.
type Server struct {
	Asks int64 // heard, notifications aside

	far    wire.Far
	prefix []byte // of the answer paths
	made   answering
	frames []byte
	stamps Stamps

	// Notifications is the channel of the standing ask for notifications, once it was heard; 0 before.
	Notifications uint32
}

// paths by kind.
var paths = [...]string{"list-tools/", "list-resources/", "call-tool/", "read-resource/", "notifications/"}

// AddServer connects a container's server. p is its /requests, upgraded; asks that arrived with the 101 are not seen. frames
// are those of an answer.
func (c *Crew) AddServer(addr, container string, p wire.Peer, frames []byte, stamps Stamps) (*Server, error) {
	to, err := wire.Address(addr)
	if err != nil {
		return nil, err
	}
	t := c.at(int(p))
	s := &Server{prefix: []byte("/containers/" + container + "/mcp/"), frames: frames, stamps: stamps}
	s.made = answering{tally: t, to: to, ended: s.answered}
	s.far.User = s
	if err := t.loop.Adopt(&s.far, p); err != nil {
		return nil, err
	}
	if stamps != nil {
		return s, s.far.Stamped()
	}
	return s, nil
}

func (s *Server) answered(a *answer) error {
	a.stamp = nil
	s.made.free = append(s.made.free, a)
	return nil
}

// Arrived implements wire.User.
func (s *Server) Arrived(f *wire.Far, b []byte) (done int, err error) {
	for rest := b; ; {
		op, ask, after, ok := wire.Unframe(rest)
		if !ok {
			return len(b) - len(rest), nil
		}
		rest = after
		switch {
		case op == wire.OpPing:
		case op != wire.OpBinary || len(ask) < 5 || int(ask[4]) >= len(paths):
			return 0, fmt.Errorf("a frame of opcode %d on /requests: %.100q", op, ask)
		case ask[4] == 4:
			s.Notifications = binary.BigEndian.Uint32(ask)
		default:
			if err := s.answer(f, ask); err != nil {
				return 0, err
			}
		}
	}
}

func (s *Server) answer(f *wire.Far, ask []byte) error {
	s.Asks++
	a := s.made.take()
	if s.stamps != nil {
		if a.stamp = s.stamps.of(ask[5:]); a.stamp != nil {
			a.stamp.announced.Store(f.At)
		}
	}
	a.frames = s.frames
	a.path = append(append(a.path[:0], s.prefix...), paths[ask[4]]...)
	a.path = strconv.AppendUint(a.path, uint64(binary.BigEndian.Uint32(ask)), 10)
	return s.made.begin(a)
}

// Ended implements wire.User.
func (s *Server) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("/requests ended: %v", cause)
}
