package main

import "sync/atomic"

// phase is what the gateway is going through.
type phase string

const (
	steady     phase = "steady"
	restarting phase = "restarting" // from before SIGTERM until it is ready again: what fails may fail
	recovering phase = "recovering" // until everybody is connected as before: nothing may fail, but it may take time
)

// phases knows the present phase, and which past moments a restart excuses. The parent process tells.
type phases struct {
	now atomic.Pointer[moment]
}

// moment is the phase at some time, after so many restarts.
type moment struct {
	phase    phase
	restarts int
}

func newPhases() *phases {
	p := &phases{}
	p.now.Store(&moment{phase: steady})
	return p
}

// enter is called by one goroutine.
func (p *phases) enter(ph phase) {
	next := moment{ph, p.now.Load().restarts}
	if ph == restarting {
		next.restarts++
	}
	p.now.Store(&next)
}

func (p *phases) mark() moment { return *p.now.Load() }

// excuses says whether something that began at the mark may have failed until now.
func (p *phases) excuses(m moment) bool {
	return m.phase == restarting || p.now.Load().restarts != m.restarts
}

// calm says whether nothing but the steady phase was since the mark.
func (p *phases) calm(m moment) bool { return m.phase == steady && *p.now.Load() == m }
