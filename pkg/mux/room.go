package mux

import (
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
// Config.Idle, those first that have rested for longest, until one in sixteen
// places is free: what it costs is shared by those that begin in them. It reports
// whether there is room.
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
	wanted, freed := 1+m.limits.Containers/16, 0
	for length := m.config.Idle; length > shortestRest && freed < wanted; {
		length = max(length/2, shortestRest)
		freed += m.sweep(rest{now: now, length: length, early: true})
	}
	m.counters.forgottenEarly.Add(int64(freed))
	if freed < wanted {
		m.clearing.lookAt = now + shortestRest
	}
	return !m.full()
}
