package mux

import (
	"errors"

	"github.com/diverge-network/gateway/pkg/codec"
)

// ErrClaimed refuses a second /requests connection while one is held (protocol
// R5: 409). Try again when the first has ended.
var ErrClaimed = errors.New("the container already has a /requests connection; connect again when it has ended")

// Line is a /requests connection as the mux sees it.
type Line interface {
	// Announce appends one ask to what is to be sent. It is called under the
	// container's lock, in wire order; it must not block and must not call back.
	// payload is borrowed until it returns.
	Announce(channel uint32, k codec.Kind, payload []byte)
	// Flush sends what was announced. It is called with no lock held, also just
	// after the claim was detached, when it must be harmless.
	Flush()
	// Probe is called with no lock held when a second claim was refused: find
	// out soon whether the peer is still there (protocol R5).
	Probe()
}

// Claim is the right to be the container's one /requests connection.
type Claim struct {
	container *Container // set once
	line      Line       // guarded by container.mu; non-nil exactly while live
}

// Claim takes the one connection of the container of that id, which begins if it
// must (protocol G5), before its upgrade. Every Claim must be ended with Detach,
// also when the upgrade never completes. While it is held others get ErrClaimed,
// and its Line is probed. A *LimitError refuses a container that would be a new one.
func (m *Mux) Claim(id string) (cl *Claim, err error) {
	for c := m.Lookup(id); ; {
		if c != nil {
			cl, holder, forgotten := c.tryClaim()
			switch {
			case cl != nil:
				return cl, nil
			case holder != nil:
				holder.Probe()
			}
			if !forgotten {
				return nil, ErrClaimed
			}
		}
		if c, err = m.begin(id); err != nil {
			return nil, err
		}
	}
}

func (c *Container) tryClaim() (cl *Claim, holder Line, forgotten bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgotten {
		return nil, nil, true
	}
	if c.claim != nil {
		return nil, c.claim.line, false
	}
	c.claim = &Claim{container: c}
	return c.claim, nil, false
}

// Container returns the container whose claim this is.
func (cl *Claim) Container() *Container { return cl.container }

// Attach makes the claim live, once: all that waits is announced on l, in the
// order of protocol N1 and R7, and asks made from now on follow. It does not
// flush: what it announced is to go out with the 101, in one write.
func (cl *Claim) Attach(l Line) {
	c := cl.container
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claim != cl || cl.line != nil {
		c.mux.illegal("a claim was attached twice or after it was detached")
		return
	}
	cl.line = l
	c.mux.counters.connected.Add(1)
	if c.resident.state == stateWaiting {
		c.resident.announceLocked(l)
	}
	for a := range c.asks.all {
		if a.state == stateWaiting && !a.abandonedLocked() {
			a.announceLocked(l)
		}
	}
}

// Detach ends the claim, which is free at once: the connection ended (protocol
// R7, R8) or never came to be. Later calls do nothing, also when the container
// is claimed by another by then.
func (cl *Claim) Detach() {
	c := cl.container
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claim != cl {
		return
	}
	c.claim = nil
	c.restedAt = c.mux.now()
	if cl.line == nil {
		return
	}
	cl.line = nil
	c.mux.counters.connected.Add(-1)
	c.resident.loseLocked()
	for a := range c.asks.all {
		a.loseLocked()
	}
}
