package outside

import (
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// limits are the gateway's, as far as this listener keeps to them.
type limits struct {
	budget  *limit.Budget
	memory  *limit.Memory
	stalled *limit.Alarm
	queued  int // most bytes on one /requests socket; 0: any number
}

func newLimits(config *Config) limits {
	l := limits{budget: config.Budget, memory: config.Memory, stalled: config.Stalled, queued: config.MaxQueued}
	if l.stalled == nil {
		l.stalled = new(limit.Alarm)
	}
	return l
}

// noRoom ends a path whose message may not be held: as for one that is too big
// (protocol W9), the server is told that it is of no use to send it again.
var noRoom = &wsock.Violation{Code: 1009, Reason: "the message is refused: --max-buffered or --max-buffered-total is reached"}

// Room implements wsock.RoomHandler: an answer counts from its first bytes on.
func (s *answer) Room(b *codec.Buffer) *wsock.Violation {
	if full := s.handler.limits.budget.Charge(s.path.Container().ID(), b); full != nil {
		s.full = full
		return noRoom
	}
	return nil
}

// Room implements wsock.RoomHandler: nothing that the server sends here is read to
// its end (protocol R6).
func (s *requests) Room(b *codec.Buffer) *wsock.Violation {
	if cap(b.B) > limit.Small {
		return serverMessage
	}
	return nil
}

// maxUncounted is up to which size the queue of a /requests socket is not counted.
const maxUncounted = 64 << 10

// Charge implements wsock.Charger. What is queued is a copy of what is counted
// already, so it is not refused; but what comes next may be, for it.
func (s *requests) Charge(b *codec.Buffer) {
	if cap(b.B) > maxUncounted {
		s.handler.limits.budget.Force(s.claim.Container().ID(), b)
	}
}

// queued ends the connection if more is queued on it than the waiting asks of its
// container can be: those of clients that have left pile up on a server that does
// not read.
func (s *requests) queued(bytes int) {
	if most := s.handler.limits.queued; most > 0 && bytes > most {
		s.overfull.Store(true)
		s.conn.Cut()
	}
}
