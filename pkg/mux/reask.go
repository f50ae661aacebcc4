package mux

import (
	"math"
	"time"
)

// maxReasks is how often an ask that breaks is asked again on one connection
// (protocol A5), so that an answer that always breaks does not run its tool for ever.
const maxReasks = 3

// steady is how long a notifications path must have been open for its end not to
// count with those before it (protocol N4).
const steady = 30 * time.Second

// unpathLocked takes a's path from it; it is to be asked again, on the next
// connection if no timer says otherwise.
func (a *Ask) unpathLocked(reason Reason) {
	a.reason = reason
	a.releaseLocked()
	if a.container.liveLocked() == nil {
		a.becomeLocked(stateWaiting)
	} else {
		a.becomeLocked(stateParked)
	}
}

// breakLocked is the abrupt end of a's path. It returns the line to flush if a
// was asked again at once.
func (a *Ask) breakLocked() Line {
	a.unpathLocked(ReasonBroke)
	m, cl := a.container.mux, a.container.claim
	if a.kind.Many() && m.now()-a.container.openedAt >= steady {
		a.reasks = 0
	}
	if a.state != stateParked || a.reasks == maxReasks || m.config.ReaskAfter < 0 {
		return nil
	}
	if m.config.ReaskAfter == 0 {
		return a.reaskLocked(cl.line)
	}
	generation := a.generation
	a.timer = m.config.Clock.AfterFunc(doubled(m.config.ReaskAfter, a.reasks), func() {
		if line := a.due(cl, generation); line != nil {
			line.Flush()
		}
	})
	return nil
}

// due is the firing of a timer. A timer that could not be stopped finds another
// state, another generation or another connection, and does nothing.
func (a *Ask) due(cl *Claim, generation uint32) Line {
	c := a.container
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.state != stateParked || a.generation != generation || c.claim != cl {
		return nil
	}
	return a.reaskLocked(cl.line)
}

func (a *Ask) reaskLocked(line Line) Line {
	if a.abandonedLocked() {
		return nil
	}
	a.reasks++
	a.announceLocked(line)
	return line
}

func doubled(d time.Duration, times uint8) time.Duration {
	if d > math.MaxInt64>>times {
		return math.MaxInt64
	}
	return d << times
}
