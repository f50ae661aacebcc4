package mux

import (
	"errors"
	"sync"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Container is one sandbox with its asks. All methods may be called concurrently.
type Container struct {
	// Set before the container can be seen.
	mux    *Mux
	id     string
	sink   Sink   // nil: nobody listens
	serial uint32 // half of the key of its channels; two of 2^32 containers share one, and each other's channels are in use to them

	mu sync.Mutex // a leaf; see the package's lock order

	// Guarded by mu.
	nextChannel uint32  // never 0
	entered     int32   // inside activities, now
	inFlight    int32   // the length of asks
	unheard     int32   // of those, the ones that were never announced
	present     bool    // followers take it to be there; changed only under presence.mu, too
	forgotten   bool    // out of the table, or just before
	claim       *Claim  // the holder; live once it has a line
	asks        askList // kinds 0 to 3, unsettled or still answerable, in the order they were made
	resident    Ask     // the one notifications ask (protocol N2); new until N1 makes it

	openedAt time.Duration // when the resident ask's path was opened last

	enteredAt time.Duration // when the last inside activity ended
	restedAt  time.Duration // when anything else that keeps it from being forgotten last ended
}

// ID returns the container's id.
func (c *Container) ID() string { return c.id }

// Sink returns what Config.NewSink made for this container, nil without one.
func (c *Container) Sink() Sink { return c.sink }

// withPath is an ask that is made to be answered: in one piece with its first path.
type withPath struct {
	Ask
	first Path
}

// Ask makes one ask of a kind from 0 to 3 for caller, which must not be nil. It
// is announced at once when a connection is live, and waits for the next one
// otherwise, for ever if need be (protocol R9). payload is borrowed until
// caller.Settle is called, or until Leave or Cancel returned true. If the
// container was forgotten, the ask is made of the one that begins in its place.
// The error is a *LimitError: caller is not settled then, and payload not kept.
func (c *Container) Ask(k codec.Kind, payload []byte, caller Caller) (*Ask, error) {
	made := &withPath{Ask: Ask{container: c, kind: k, payload: payload, caller: caller}}
	made.spare = &made.first
	a := &made.Ask
	if !k.Known() || k.Many() {
		c.mux.illegal("an ask of kind %v cannot be made", k)
		a.caller, a.payload, a.state = nil, nil, stateDone
		caller.Settle(Settlement{Outcome: NotServed})
		return a, nil
	}
	switch line, err := c.admit(a); {
	case err == errForgotten:
		successor, err := c.mux.begin(c.id)
		if err != nil {
			return nil, err
		}
		return successor.Ask(k, payload, caller)
	case err == errStopped:
		caller.Settle(Settlement{Outcome: Stopped})
	case err != nil:
		return nil, err
	case line != nil:
		line.Flush()
	}
	return a, nil
}

var (
	errForgotten = errors.New("the container was forgotten")
	errStopped   = errors.New("the mux was stopped")
)

// admit takes a new ask in, and returns the line to flush if it was announced.
func (c *Container) admit(a *Ask) (line Line, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgotten {
		return nil, errForgotten
	}
	line = c.liveLocked()
	if err = c.takeLocked(a, line != nil); err != nil {
		return nil, err
	}
	a.becomeLocked(stateWaiting)
	c.asks.push(a)
	if c.mux.stopped.Load() {
		a.finishLocked()
		c.mux.counters.settled[a.kind][Stopped].Add(1)
		return nil, errStopped
	}
	if line != nil {
		a.announceLocked(line)
	}
	return line, nil
}

// stopped is a caller that is owed a Stopped.
type stopped struct {
	caller    Caller
	announced bool
}

// stop ends every ask and returns the callers that are to be told.
func (c *Container) stop() (owed []stopped) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for a := range c.asks.all {
		if caller := a.finishLocked(); caller != nil {
			c.mux.counters.settled[a.kind][Stopped].Add(1)
			owed = append(owed, stopped{caller, a.generation > 0})
		}
	}
	c.endResidentLocked()
	return owed
}

func (c *Container) endResidentLocked() {
	if s := c.resident.state; s != stateNew && s != stateDone {
		c.resident.finishLocked()
	}
}

// liveLocked returns the line of the live claim. Between Claim and Attach the
// claim is held but not live: asks wait.
func (c *Container) liveLocked() Line {
	if c.claim == nil {
		return nil
	}
	return c.claim.line
}

// mintLocked gives a its next channel and the channel its row (protocol R2).
func (c *Container) mintLocked(a *Ask) {
	for {
		channel := c.nextChannel
		if c.nextChannel++; c.nextChannel == 0 {
			c.nextChannel = 1
		}
		if c.mux.channels.take(c.serial, channel, a) {
			a.channel = channel
			return
		}
	}
}
