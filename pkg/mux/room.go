package mux

import (
	"math/bits"
	"sync"
	"time"
)

// shortestRest is how long a container must have had nothing to be forgotten for
// Limits.Containers, and how long after a look that found too few of them it is
// not looked again.
const shortestRest = time.Second

// clearing is the making of room for containers, by one at a time.
type clearing struct {
	mu     sync.Mutex // taken before any other lock
	lookAt time.Duration
}

// full reports whether there may be no further container.
func (m *Mux) full() bool { return reached(m.containers.Size(), m.limits.Containers) }

// makeRoom forgets containers in which nothing happens before they have rested for
// Config.Idle: those that have rested for longest, and so many that one in sixteen
// places is free, as what it costs is shared by those that begin in them. It
// reports whether there is room.
func (m *Mux) makeRoom() bool {
	m.clearing.mu.Lock()
	defer m.clearing.mu.Unlock()
	if !m.full() {
		return true // another was here before
	}
	now := m.now()
	if now < m.clearing.lookAt {
		return false
	}
	wanted := 1 + m.limits.Containers/16
	length, enough := m.longestRests(now, wanted)
	if length > 0 {
		freed := m.sweep(rest{now: now, length: length, early: true})
		m.counters.forgottenEarly.Add(int64(freed))
		if m.config.MakesRoom != nil {
			m.config.MakesRoom()
		}
	}
	if !enough {
		m.clearing.lookAt = now + shortestRest
	}
	return !m.full()
}

// longestRests is how long at least the containers have rested that are to make
// room: those that have for longest and are as many as wanted, or all that have
// rested. Lengths differ by a factor of two. It is 0 where none has, or none ever
// is forgotten.
func (m *Mux) longestRests(now time.Duration, wanted int) (length time.Duration, enough bool) {
	if m.config.Idle <= 0 {
		return 0, false
	}
	var rested [64]int // containers by the logarithm of shortestRests
	m.containers.Range(func(_ string, c *Container) bool {
		if d := c.restedFor(now); d >= shortestRest {
			rested[bits.Len64(uint64(d/shortestRest))-1]++
		}
		return true
	})
	found := 0
	for i := len(rested) - 1; i >= 0 && found < wanted; i-- {
		if found += rested[i]; rested[i] > 0 {
			length = shortestRest << i
		}
	}
	return length, found >= wanted
}

// restedFor is for how long nothing at all has happened in c; 0 while something does.
func (c *Container) restedFor(now time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.restedLocked(rest{now: now}) {
		return 0
	}
	since := c.restedAt
	if c.present {
		since = max(since, c.enteredAt)
	}
	return now - since
}
