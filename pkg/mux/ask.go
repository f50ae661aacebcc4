package mux

import "github.com/diverge-network/gateway/pkg/codec"

// Caller waits for the end of one ask.
type Caller interface {
	// Settle is called exactly once, unless Leave or Cancel returned true, which
	// rules it out. No lock is held; it may run before Ask returns, and runs in
	// the goroutine of whatever ended the ask: it should be short.
	Settle(s Settlement)
}

// Leaver is a Caller that can tell by itself that it has gone. It is asked right
// before an ask that has waited is announced, so that a departure which nobody
// has noticed yet is one all the same (protocol R7, A10).
type Leaver interface {
	// Gone is called under a lock, from any goroutine, until Settle is called or
	// Leave or Cancel has returned. It must not block and must not call back.
	Gone() bool
}

// Ask is one ask of kinds 0 to 3, or a container's resident notifications ask.
// All methods may be called concurrently.
type Ask struct {
	// Set before the ask enters its container.
	container *Container
	kind      codec.Kind

	// Guarded by container.mu.
	state      state
	reasks     uint8  // on the live connection (protocol A5)
	reason     Reason // why it is to be asked again; meaningful once generation > 0
	departed   bool   // the caller has gone (protocol A10)
	cancelled  bool   // and it cancelled
	channel    uint32 // 0 unless announced or open
	generation uint32 // how often it was announced
	caller     Caller // nil once owed nothing
	payload    []byte // borrowed from the caller; nil once it has gone or is settled
	path       *Path  // non-nil exactly while open
	spare      *Path  // room for the first one; nil once it is taken, and for a resident ask
	timer      Timer  // non-nil only while parked
	prev, next *Ask   // in container.asks
}

// Leave says that the caller has gone (protocol A10): an ask that is not
// announced is withdrawn; an announced one stays answerable, and its answer is
// dropped; it is never asked again. It reports true when Settle will never be
// called, false when it was or is being called.
func (a *Ask) Leave() bool {
	gone, _ := a.depart(Left)
	return gone
}

// Cancel is Leave for a caller that cancelled: moreover an open path that has
// brought no message is closed cleanly, and one that opens later says so itself
// (Path.Cancelled).
func (a *Ask) Cancel() bool {
	gone, unserved := a.depart(Cancelled)
	if unserved != nil {
		unserved.CloseUnserved()
	}
	return gone
}

func (a *Ask) depart(how Outcome) (gone bool, unserved Socket) {
	c := a.container
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.caller != nil {
		a.departLocked(how)
	}
	if a.departed && how == Cancelled && !a.cancelled {
		a.cancelled = true
		if a.path != nil && !a.path.arrived {
			unserved = a.path.socket
		}
	}
	return a.departed, unserved
}

// departLocked is the departure of a caller that is still owed an outcome.
func (a *Ask) departLocked(how Outcome) {
	a.departed, a.caller, a.payload = true, nil, nil
	a.container.mux.counters.settled[a.kind][how].Add(1)
	if a.state == stateWaiting || a.state == stateParked {
		a.finishLocked()
	}
}

// abandonedLocked finds out whether the caller has gone unnoticed, which ends a.
func (a *Ask) abandonedLocked() bool {
	l, ok := a.caller.(Leaver)
	if !ok || !l.Gone() {
		return false
	}
	a.departLocked(Left)
	return true
}

// announceLocked puts a on the live connection under a fresh channel, and
// behind the container's first ask the resident one (protocol N1).
func (a *Ask) announceLocked(line Line) {
	c := a.container
	a.disarmLocked()
	if a.generation > 0 {
		c.mux.counters.reasked[a.reason].Add(1)
	} else if a != &c.resident {
		c.unheard--
	}
	a.generation++
	a.becomeLocked(stateAnnounced)
	c.mintLocked(a)
	line.Announce(a.channel, a.kind, a.payload)
	if c.resident.state == stateNew {
		c.resident.becomeLocked(stateWaiting)
		c.resident.announceLocked(line)
	}
}

// openLocked gives an announced ask its path.
func (a *Ask) openLocked(p *Path) {
	a.becomeLocked(stateOpen)
	a.path = p
	if a.kind.Many() {
		a.container.openedAt = a.container.mux.now()
	}
}

// loseLocked is the end of the live connection for a: unless its path is open
// (protocol R8) it waits for the next one, or is forgotten if nobody waits for
// it (R7).
func (a *Ask) loseLocked() {
	a.reasks = 0
	switch a.state {
	case stateAnnounced:
		if a.departed {
			a.finishLocked()
			return
		}
		a.reason = ReasonLost
		a.releaseLocked()
		a.becomeLocked(stateWaiting)
	case stateParked:
		a.disarmLocked()
		a.becomeLocked(stateWaiting)
	}
}

// finishLocked ends a for good, and returns the caller that is owed an outcome.
func (a *Ask) finishLocked() (owed Caller) {
	a.disarmLocked()
	a.releaseLocked()
	a.becomeLocked(stateDone)
	if a != &a.container.resident {
		a.container.asks.remove(a)
		a.container.giveBackLocked(a)
	}
	owed, a.caller, a.payload = a.caller, nil, nil
	return owed
}

// releaseLocked takes a's channel and path from it: the channel is unknown from now on.
func (a *Ask) releaseLocked() {
	a.container.restedAt = a.container.mux.now()
	if a.channel != 0 {
		a.container.mux.channels.release(a.container.serial, a.channel)
	}
	a.channel, a.path = 0, nil
}

func (a *Ask) disarmLocked() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
