package upstream

import "sync/atomic"

// Stats is a snapshot of an Upstream's counters. All but Connected and Standalone only grow.
type Stats struct {
	Connected       bool   // there is a session
	Standalone      bool   // its standalone stream is open: notifications between requests are heard
	Sessions        uint64 // sessions begun
	Lost            uint64 // sessions lost
	ConnectFailures uint64 // attempts to connect that failed
	Calls           uint64 // asks taken
	Repeated        uint64 // requests sent again because the server had certainly not run them
	Cancelled       uint64 // requests whose caller went before the answer
	Unmatched       uint64 // answers of the server to no request, late ones among them
	Declined        uint64 // requests of the server's own that were declined
	Notifications   uint64 // notifications of the server, list_changed after a new session among them
	Unheard         uint64 // notifications while no path was open (protocol N5)
	Dropped         uint64 // notifications dropped: the path did not drain, or it was not a valid notification
	Noise           uint64 // lines of a command's standard output that are not messages
}

type counters struct {
	connected, standalone                                                  atomic.Bool
	sessions, lost, connectFailures, calls, repeated, cancelled, unmatched atomic.Uint64
	declined, notifications, unheard, dropped, noise                       atomic.Uint64
}

// Stats is safe for concurrent use at any time.
func (u *Upstream) Stats() Stats {
	c := &u.counters
	return Stats{
		Connected:       c.connected.Load(),
		Standalone:      c.standalone.Load(),
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
		Dropped:         c.dropped.Load(),
		Noise:           c.noise.Load(),
	}
}
