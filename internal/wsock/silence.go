package wsock

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrSilent is the cause of the ending of a connection that Silence.GiveUp ended.
var ErrSilent = errors.New("the peer is silent: it did not even answer a ping")

// Silence is a connection's whose peer did not answer a ping; see Config.OnSilent.
type Silence struct {
	conn *Conn
	mark uint64
}

// Over reports whether something has come since.
func (s Silence) Over() bool { return s.conn.watch.moves.Load() != s.mark }

// GiveUp ends the connection abruptly, with ErrSilent, unless the silence is over
// or the connection is, and reports whether it did.
func (s Silence) GiveUp() bool {
	if s.Over() || s.conn.watch.over.Load() {
		return false
	}
	s.conn.watch.gaveUp.Store(true)
	s.conn.Cut()
	return true
}

// queuedMuch is more than our control frames leave unacknowledged.
const queuedMuch = 1 << 10

// watch looks after a connection whose peer may be gone without an end of TCP:
// behind something that acknowledges for it, or sooner than TCP gives up.
type watch struct {
	timer  *time.Timer   // set by begin
	moves  atomic.Uint64 // signs of life so far
	over   atomic.Bool   // the connection has ended
	gaveUp atomic.Bool

	// Of look alone.

	seen   uint64 // moves at the last look
	quiet  int    // looks in a row that found none
	queued int    // bytes unacknowledged at the last look
}

// stirs notes that something came.
func (w *watch) stirs() {
	if w != nil {
		w.moves.Add(1)
	}
}

// wrote notes that the peer's side took so much of a message: a ping of ours is no
// sign of life.
func (w *watch) wrote(n int) {
	if w != nil && n > queuedMuch {
		w.moves.Add(1)
	}
}

func (w *watch) end() {
	if w != nil && w.timer != nil {
		w.over.Store(true)
		w.timer.Stop()
	}
}

// cause is why the connection ended, which err is if it was not given up.
func (w *watch) cause(err error) error {
	if w != nil && w.gaveUp.Load() {
		return ErrSilent
	}
	return err
}

// look is one look at a connection, and schedules the next. A connection that is
// being closed has bounds of its own.
func (c *Conn) look() {
	w := c.watch
	if w.over.Load() {
		return
	}
	c.mu.Lock()
	shut := c.shut
	c.mu.Unlock()
	queued, _ := c.sc.Unacknowledged()
	if w.queued > queuedMuch && queued != w.queued { // a long message keeps our ping waiting behind it
		w.stirs()
	}
	w.queued = queued
	moves := w.moves.Load()
	if w.quiet++; moves != w.seen || shut {
		w.quiet = 0
	}
	w.seen = moves
	switch {
	case w.quiet == 1:
		c.Ping()
	case w.quiet > 1:
		c.cfg.OnSilent(Silence{c, moves})
	}
	w.timer.Reset(c.cfg.Quiet)
}
