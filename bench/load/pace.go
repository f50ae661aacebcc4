//go:build linux

package load

import "github.com/diverge-network/gateway/bench/wire"

// pace begins work at a steady rate instead of as soon as the last was done. What finds nobody free begins late, and its
// time counts from when it was due.
type pace struct {
	every int64 // nanoseconds between two; 0: no pace
	next  int64 // when the next is due, on wire.Clock
	free  []*Caller
}

// Pace has the crew's callers make so many calls a second together, evenly, instead of one after the other; 0 ends that.
func (c *Crew) Pace(rate float64) {
	for _, t := range c.tally {
		t.pace.every = 0
		t.loop.Due = nil
		if rate > 0 {
			t.pace.every = int64(1e9 * float64(len(c.tally)) / rate)
			t.loop.Due = t.due
		}
	}
}

func (t *tally) due() (again int64, err error) {
	p := &t.pace
	if !t.crew.open.Load() {
		p.next = 0
		return wire.Clock() + 1e9, nil
	}
	now := wire.Clock()
	if p.next == 0 {
		p.next = now
	}
	for p.next <= now && len(p.free) > 0 {
		// Who has been free longest: the others' connections would be given up as idle.
		c := p.free[0]
		p.free = append(p.free[:0], p.free[1:]...)
		if err := c.call(p.next); err != nil {
			return 0, err
		}
		p.next += p.every
	}
	if len(p.free) == 0 {
		return now + 1e9, nil // the next that is free begins it
	}
	return p.next, nil
}
