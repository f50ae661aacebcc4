package outside

import (
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// noRoom ends a path whose message may not be held: as for one that is too big
// (protocol W9), the server is told that it is of no use to send it again.
var noRoom = &wsock.Violation{Code: 1009, Reason: "the message is refused: --max-buffered or --max-buffered-total is reached"}

// Room implements wsock.RoomHandler: an answer counts from its first bytes on.
func (s *answer) Room(b *codec.Buffer) *wsock.Violation {
	if full := s.handler.budget.Charge(s.path.Container().ID(), b); full != nil {
		s.full = full
		s.handler.observer.Refused(Listener, full.Name)
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
		s.handler.budget.Force(s.claim.Container().ID(), b)
	}
}

// queued ends the connection if more is queued on it than the waiting asks of its
// container can be: those of clients that have left pile up on a server that does
// not read.
func (s *requests) queued(bytes int) {
	if most := s.handler.maxQueued; most > 0 && bytes > most {
		s.overfull.Store(true)
		s.conn.Cut()
	}
}

// stalled counts a connection that was ended because its peer took nothing.
func (h *Handler) stalled() { h.observer.Refused(Listener, string(ReasonStall)) }
