package upstream

import (
	"sync/atomic"

	"github.com/diverge-network/gateway/pkg/stream"
)

// Stats is a snapshot of the counters of an Upstream or a Shared. All but Connected, Standalone and Paths only grow.
type Stats struct {
	Connected       bool   // there is a session
	Standalone      bool   // its standalone stream, or subscription, is open: notifications between requests are heard
	Paths           int64  // notifications paths that are open
	Sessions        uint64 // sessions begun
	Lost            uint64 // sessions lost
	ConnectFailures uint64 // attempts to connect that failed
	Calls           uint64 // asks taken
	Repeated        uint64 // requests sent again because the server had certainly not run them
	Cancelled       uint64 // requests whose caller went before the answer
	Unmatched       uint64 // answers of the server to no request, late ones among them
	Declined        uint64 // requests of the server's own that were declined, or not answered
	Notifications   uint64 // notifications of the server, list_changed after a new session among them
	Unheard         uint64 // notifications while no path was open (protocol N5)
	Dropped         uint64 // notifications dropped, once per path: it did not drain, ended first, or could not take them
	Strays          uint64 // progress of no waiting call, and log messages of nobody knows whose, dropped; only a Shared looks
	Noise           uint64 // lines of a command's standard output that are not messages
}

type counters struct {
	connected, standalone                                                  atomic.Bool
	sessions, lost, connectFailures, calls, repeated, cancelled, unmatched atomic.Uint64
	declined, notifications, unheard, dropped, strays, noise               atomic.Uint64
	paths                                                                  stream.Counters
}

// Stats is safe for concurrent use at any time.
func (k *keeper) Stats() Stats {
	c := &k.counters
	dropped := c.dropped.Load()
	for i := range c.paths.Dropped {
		dropped += c.paths.Dropped[i].Load()
	}
	return Stats{
		Connected:       c.connected.Load(),
		Standalone:      c.standalone.Load(),
		Paths:           c.paths.Streams.Load(),
		Sessions:        c.sessions.Load(),
		Lost:            c.lost.Load(),
		ConnectFailures: c.connectFailures.Load(),
		Calls:           c.calls.Load(),
		Repeated:        c.repeated.Load(),
		Cancelled:       c.cancelled.Load(),
		Unmatched:       c.unmatched.Load(),
		Declined:        c.declined.Load(),
		Notifications:   c.notifications.Load(),
		Unheard:         c.unheard.Load(),
		Dropped:         dropped,
		Strays:          c.strays.Load(),
		Noise:           c.noise.Load(),
	}
}
