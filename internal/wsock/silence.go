package wsock

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrSilent is the cause of the ending of a connection that Config.Silence ended.
var ErrSilent = errors.New("the peer is silent: it did not even answer a ping")

// silentLooks is how many looks there are within Config.Silence: at the first
// that finds nothing the peer is pinged, at the third in a row the connection is
// cut. What came just after a look makes that four.
const silentLooks = 4

// queuedMuch is more than our control frames leave unacknowledged.
const queuedMuch = 1 << 10

// silence watches over a connection whose peer may be gone without an end of
// TCP: behind a balancer that acknowledges for it, or sooner than TCP gives up.
type silence struct {
	timer *time.Timer // set by begin
	moved atomic.Bool // something came, or went out, since the last look
	over  atomic.Bool // the connection has ended
	found atomic.Bool // it was cut by us

	// Of look alone.

	quiet  int // looks in a row that found nothing
	queued int // bytes unacknowledged at the last one
}

// stirs notes that something came.
func (s *silence) stirs() {
	if s != nil {
		s.moved.Store(true)
	}
}

// wrote notes that the peer's side took so much of a message: a ping of ours is no
// sign of life.
func (s *silence) wrote(n int) {
	if s != nil && n > queuedMuch {
		s.moved.Store(true)
	}
}

func (s *silence) end() {
	if s != nil && s.timer != nil {
		s.over.Store(true)
		s.timer.Stop()
	}
}

// cause is why the connection ended, which err is if it was not our doing.
func (s *silence) cause(err error) error {
	if s != nil && s.found.Load() {
		return ErrSilent
	}
	return err
}

// look is one look at a connection, and schedules the next. A connection that is
// being closed has bounds of its own.
func (c *Conn) look() {
	s := c.silence
	if s.over.Load() {
		return
	}
	c.mu.Lock()
	shut := c.shut
	c.mu.Unlock()
	queued, _ := c.sc.Unacknowledged()
	// A long message on a slow link keeps our ping waiting behind it.
	draining := s.queued > queuedMuch && queued != s.queued
	s.queued = queued
	if s.quiet++; s.moved.Swap(false) || draining || shut {
		s.quiet = 0
	}
	switch s.quiet {
	case 1:
		c.Ping()
	case silentLooks - 1:
		s.found.Store(true)
		c.Cut()
		return
	}
	s.timer.Reset(c.cfg.Silence / silentLooks)
}
