package mux

import (
	"fmt"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Limit is one of the bounds in Limits.
type Limit uint8

const (
	LimitAsks       Limit = iota // Limits.Asks
	LimitWaiting                 // Limits.Waiting
	LimitAsksTotal               // Limits.AsksTotal
	LimitContainers              // Limits.Containers
	LimitCount      = iota
)

var limitNames = [LimitCount]string{"max-asks", "max-waiting", "max-asks-total", "max-containers"}

// String returns the limit as a metric label.
func (l Limit) String() string { return limitNames[l] }

var limitMeanings = [LimitCount]string{
	LimitAsks:       "of this container too many asks are in flight: ask again when one has ended",
	LimitWaiting:    "no server is connected for this container, and too many asks wait for one: ask again when it is",
	LimitAsksTotal:  "too many asks are in flight, over all containers: ask again when some have ended",
	LimitContainers: "there are too many containers, and this would be a new one: try again when some have gone",
}

// Limits bound what a Mux holds. None is ever exceeded; 0 or less is no limit.
//
// An ask is in flight from when it is made until it is settled, or, if its caller
// has left, until its server may no longer answer it: what a server was told of
// counts for as long as it is remembered.
type Limits struct {
	Asks       int // in flight, per container
	Waiting    int // of those, per container, the ones no server has heard of; they wait for one
	AsksTotal  int // in flight, over all containers
	Containers int
}

// LimitError refuses what would be over one of the Limits. Nothing has changed.
type LimitError struct {
	Limit Limit
	Most  int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s (the limit is %d)", limitMeanings[e.Limit], e.Most)
}

// limits are the Limits as they are asked for, with what refuses them made once.
type limits struct {
	Limits
	over [LimitCount]LimitError
}

func newLimits(l Limits) limits {
	made := limits{Limits: l}
	for limit, most := range [LimitCount]int{LimitAsks: l.Asks, LimitWaiting: l.Waiting, LimitAsksTotal: l.AsksTotal, LimitContainers: l.Containers} {
		made.over[limit] = LimitError{Limit(limit), most}
	}
	return made
}

// reached reports whether n are as many as there may be.
func reached(n, most int) bool { return most > 0 && n >= most }

// takeLocked gives a new ask of that kind its place, or says which limit it is
// over. Without a live connection it would be no server's.
func (c *Container) takeLocked(a *Ask, live bool) error {
	l := &c.mux.limits
	switch {
	case !live && reached(int(c.unheard), l.Waiting):
		return &l.over[LimitWaiting]
	case reached(int(c.inFlight), l.Asks):
		return &l.over[LimitAsks]
	case !c.mux.counters.take(a, l.AsksTotal):
		return &l.over[LimitAsksTotal]
	}
	c.inFlight++
	c.unheard++
	return nil
}

// giveBackLocked ends what takeLocked began.
func (c *Container) giveBackLocked(a *Ask) {
	c.inFlight--
	if a.generation == 0 {
		c.unheard--
	}
	c.mux.counters.asks[a.kind].inFlight.Add(-1)
}

// take counts an ask in, unless there are most already. Each kind has a count of
// its own, beside those that its asks change anyway. Of two asks that come at once
// the one that was counted later sees the other, so that most holds; where they
// are the last two it may be that neither is taken.
func (c *counters) take(a *Ask, most int) bool {
	own := c.asks[a.kind].inFlight.Add(1)
	if most <= 0 {
		return true
	}
	total := own
	for k := range c.asks {
		if k := codec.Kind(k); k != a.kind && !k.Many() {
			total += c.asks[k].inFlight.Load()
		}
	}
	if total <= int64(most) {
		return true
	}
	c.asks[a.kind].inFlight.Add(-1)
	return false
}

// Asks returns how many asks of the container are in flight, and how many of those
// no server has heard of.
func (c *Container) Asks() (inFlight, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(c.inFlight), int(c.unheard)
}

// Each calls f with every container that is there. It holds no lock meanwhile, and
// what begins or is forgotten in the course of it may be left out or not.
func (m *Mux) Each(f func(*Container)) {
	m.containers.Range(func(_ string, c *Container) bool {
		f(c)
		return true
	})
}
