package mux

import (
	"sync/atomic"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Stats is a snapshot of what a Mux counts. Each number is exact; numbers read
// while asks move may be of slightly different moments.
type Stats struct {
	Settled [codec.KindCount][OutcomeCount]int64 // asks ended for their caller
	Reasked [ReasonCount]int64                   // announcements that were not an ask's first

	Containers int64 // now
	Present    int64 // containers that Followers take to be there (protocol G6), now
	Connected  int64 // containers with a live /requests connection, now

	Waiting   int64 // asks of kinds 0 to 3 on no connection, now: new, lost or broken
	Announced int64 // whose path is awaited, now
	Open      int64 // whose path is open, now

	ForgottenEarly int64 // containers that were forgotten for Limits.Containers before they had to be

	Resident ResidentStats // the notifications asks, now

	ExtraMessages     int64 // answer messages after the first (protocol A8)
	DiscardedMessages int64 // answer messages followed by an abrupt end (A4)
	DroppedAnswers    int64 // answers whose caller had gone (A10)

	Notifications int64 // handed to a Sink
	Unheard       int64 // of a container without a Sink
	Undecodable   int64 // kind-4 messages that could not be decoded (N6)
	ErrorEnds     int64 // kind-4 paths ended by an error message (N3)

	Illegal int64 // calls and transitions that must not happen: faults of the program
}

// ResidentStats counts the containers' notifications asks by where they are.
type ResidentStats struct {
	Waiting, Announced, Open int64
}

type counters struct {
	settled           [codec.KindCount][OutcomeCount]atomic.Int64
	reasked           [ReasonCount]atomic.Int64
	asks              [codec.KindCount]askCounters
	forgottenEarly    atomic.Int64
	connected         atomic.Int64
	extraMessages     atomic.Int64
	discardedMessages atomic.Int64
	droppedAnswers    atomic.Int64
	notifications     atomic.Int64
	unheard           atomic.Int64
	undecodable       atomic.Int64
	errorEnds         atomic.Int64
	illegal           atomic.Int64
}

// askCounters are of the asks of one kind.
type askCounters struct {
	inFlight atomic.Int64            // of kinds 0 to 3: how many are in a container's list
	in       [stateDone]atomic.Int64 // by state; new ones are not counted
}

// Stats returns what the mux has counted so far.
func (m *Mux) Stats() Stats {
	c := &m.counters
	s := Stats{
		Containers:        int64(m.containers.Size()),
		Present:           m.presence.count.Load(),
		Connected:         c.connected.Load(),
		ExtraMessages:     c.extraMessages.Load(),
		DiscardedMessages: c.discardedMessages.Load(),
		DroppedAnswers:    c.droppedAnswers.Load(),
		Notifications:     c.notifications.Load(),
		Unheard:           c.unheard.Load(),
		Undecodable:       c.undecodable.Load(),
		ErrorEnds:         c.errorEnds.Load(),
		Illegal:           c.illegal.Load(),
		ForgottenEarly:    c.forgottenEarly.Load(),
	}
	for k := range c.settled {
		for o := range c.settled[k] {
			s.Settled[k][o] = c.settled[k][o].Load()
		}
	}
	for r := range c.reasked {
		s.Reasked[r] = c.reasked[r].Load()
	}
	for k := range c.asks {
		waiting, announced, open := &s.Waiting, &s.Announced, &s.Open
		if codec.Kind(k).Many() {
			waiting, announced, open = &s.Resident.Waiting, &s.Resident.Announced, &s.Resident.Open
		}
		*waiting += c.asks[k].in[stateWaiting].Load() + c.asks[k].in[stateParked].Load()
		*announced += c.asks[k].in[stateAnnounced].Load()
		*open += c.asks[k].in[stateOpen].Load()
	}
	return s
}
