package answer

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Outcome is how an exchange ended, seen from the server.
type Outcome uint8

const (
	Answered    Outcome = iota // a result was sent and the gateway confirmed the close; kind 4: the path closed cleanly
	Failed                     // an error was sent and the gateway confirmed the close
	NotServed                  // closed without a message, on the Handler's word
	Refused                    // the gateway no longer knew the channel, or had it open already (404, 409)
	Abandoned                  // the path ended before there was an answer, or Run ended first
	Unconfirmed                // the answer was sent, but the path did not close cleanly: it may be asked again
	Lost                       // the path could not be opened before the announcing connection ended
	OutcomeCount
)

var outcomeNames = [OutcomeCount]string{"answered", "failed", "not-served", "refused", "abandoned", "unconfirmed", "lost"}

// String is the outcome's name, fit for a metric label.
func (o Outcome) String() string {
	if o < OutcomeCount {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Hooks tell what happens as it happens. Each may be nil. They are called from the goroutines that do the work, so they
// must be safe for concurrent use and must not block.
type Hooks struct {
	// Connected: the /requests connection is open.
	Connected func()
	// Disconnected: the /requests connection ended, or could not be opened (err says why); nil when Run closed it.
	Disconnected func(err error)
	// Exchanged: an exchange ended, d after its ask was heard.
	Exchanged func(k codec.Kind, o Outcome, d time.Duration)
}

// Stats is a snapshot of a Server's counters. All but the gauges Connected and Open only grow.
type Stats struct {
	Connected     bool                                  // a /requests connection is open
	Connections   uint64                                // /requests connections opened
	DialFailures  uint64                                // attempts to open /requests that failed, a 409 among them
	Asks          [codec.KindCount]uint64               // asks heard
	Truncated     uint64                                // messages on /requests shorter than an ask (protocol D4)
	UnknownKinds  uint64                                // asks of a kind this version does not know (protocol D4)
	Open          int64                                 // answer paths open
	PathFailures  uint64                                // attempts to open an answer path that failed and were repeated
	Outcomes      [codec.KindCount][OutcomeCount]uint64 // exchanges ended
	Notifications uint64                                // notifications put on a path
	Unexpected    uint64                                // messages the gateway sent on an answer path (protocol A9)
	Panics        uint64                                // panics of the Handler, each answered with an error
}

type counters struct {
	connected     atomic.Int64
	connections   atomic.Uint64
	dialFailures  atomic.Uint64
	asks          [codec.KindCount]atomic.Uint64
	truncated     atomic.Uint64
	unknownKinds  atomic.Uint64
	open          atomic.Int64
	pathFailures  atomic.Uint64
	outcomes      [codec.KindCount][OutcomeCount]atomic.Uint64
	notifications atomic.Uint64
	unexpected    atomic.Uint64
	panics        atomic.Uint64
}

// Stats is safe for concurrent use, before, during and after Run.
func (s *Server) Stats() Stats {
	c := &s.counters
	out := Stats{
		Connected:     c.connected.Load() > 0,
		Connections:   c.connections.Load(),
		DialFailures:  c.dialFailures.Load(),
		Truncated:     c.truncated.Load(),
		UnknownKinds:  c.unknownKinds.Load(),
		Open:          c.open.Load(),
		PathFailures:  c.pathFailures.Load(),
		Notifications: c.notifications.Load(),
		Unexpected:    c.unexpected.Load(),
		Panics:        c.panics.Load(),
	}
	for k := range out.Asks {
		out.Asks[k] = c.asks[k].Load()
		for o := range out.Outcomes[k] {
			out.Outcomes[k][o] = c.outcomes[k][o].Load()
		}
	}
	return out
}
