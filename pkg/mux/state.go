package mux

import "fmt"

// state is where an ask is in its life; see the drawing in the package comment.
type state uint8

const (
	stateNew       state = iota // not made: the resident ask before N1, any ask before it enters
	stateWaiting                // for a connection; never while one is live
	stateAnnounced              // on the live connection; has a channel
	stateOpen                   // has a channel and a path
	stateParked                 // broke or ended while a connection is live; for its timer, if it has one, or the next connection
	stateDone                   // has left the container
	stateCount
)

var stateNames = [stateCount]string{"new", "waiting", "announced", "open", "parked", "done"}

func (s state) String() string { return stateNames[s] }

// legal holds, for each state, the set of states that may follow it.
var legal = [stateCount]uint8{
	stateNew:       1 << stateWaiting,
	stateWaiting:   1<<stateAnnounced | 1<<stateDone,
	stateAnnounced: 1<<stateOpen | 1<<stateWaiting | 1<<stateDone,
	stateOpen:      1<<stateParked | 1<<stateWaiting | 1<<stateDone,
	stateParked:    1<<stateAnnounced | 1<<stateWaiting | 1<<stateDone,
}

// becomeLocked is the only place where an ask that was made changes its state.
func (a *Ask) becomeLocked(next state) {
	m := a.container.mux
	if legal[a.state]&(1<<next) == 0 {
		m.illegal("a %v ask cannot become %v", a.state, next)
	}
	row := &m.counters.asks[a.kind]
	if a.state != stateNew {
		row.in[a.state].Add(-1)
	}
	if next != stateDone {
		row.in[next].Add(1)
	}
	a.state = next
}

// strict makes what must not happen panic. Tests set it; a gateway that serves
// counts it in Stats.Illegal and goes on.
var strict bool

func (m *Mux) illegal(format string, args ...any) {
	m.counters.illegal.Add(1)
	if strict {
		panic("mux: " + fmt.Sprintf(format, args...))
	}
}
