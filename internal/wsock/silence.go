package wsock

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// ErrSilent is the cause of the ending of a connection that Silence.GiveUp ended.
var ErrSilent = errors.New("the peer is silent: it did not even answer a ping")

// Watch says when a peer that says nothing is doubted: one that may be gone
// without an end of TCP, behind something that acknowledges for it, or sooner than
// TCP gives up.
type Watch struct {
	// Quiet is how long a peer may say nothing until it is pinged. It is asked
	// before each look, of which there is one in that time.
	Quiet func() time.Duration
	// Pong is how long it then has until it is told of, and between that and the
	// next time, as long as nothing comes.
	Pong time.Duration
	// Silent is told. What comes of it is the callee's to decide. It must not block.
	Silent func(Silence)
}

// Silence is a connection's whose peer did not answer a ping.
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

// watch is a Watch at work on one connection.
type watch struct {
	moves  atomic.Uint64 // signs of life so far
	over   atomic.Bool   // the connection has ended
	gaveUp atomic.Bool

	mu      sync.Mutex // guards what follows; above the connection's
	timer   *time.Timer
	doubted bool   // look at once
	seen    uint64 // moves at the last look
	pinged  bool   // at the last look, or before it, and nothing came since
	queued  int    // bytes unacknowledged at the last look
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

// cause is why the connection ended, which err is if it was not given up.
func (w *watch) cause(err error) error {
	if w != nil && w.gaveUp.Load() {
		return ErrSilent
	}
	return err
}

func (c *Conn) beginWatch() {
	w := c.watch
	if w == nil {
		return
	}
	first := c.cfg.Watch.Quiet()
	if pong := c.cfg.Watch.Pong; first > pong { // what was opened together is looked at in turn
		first = pong + rand.N(first-pong)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(first, c.look)
}

func (c *Conn) endWatch() {
	w := c.watch
	if w == nil {
		return
	}
	w.over.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Doubt has a peer pinged now, and told of if nothing comes within Watch.Pong. It
// does nothing without a Watch.
func (c *Conn) Doubt() {
	w := c.watch
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && !w.over.Load() && !w.pinged {
		w.doubted = true
		w.timer.Reset(0)
	}
}

// look is one look at a connection, and schedules the next.
func (c *Conn) look() {
	w := c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over.Load() {
		return
	}
	moves := w.moves.Load()
	lives := moves != w.seen || c.alive()
	w.seen = moves
	switch {
	case w.doubted, !lives && !w.pinged:
		w.doubted, w.pinged = false, true
		c.Ping()
	case lives:
		w.pinged = false
	default:
		c.cfg.Watch.Silent(Silence{c, moves})
	}
	if w.pinged {
		w.timer.Reset(c.cfg.Watch.Pong)
	} else {
		w.timer.Reset(c.cfg.Watch.Quiet())
	}
}

// alive reports whether a peer that says nothing lives all the same: it is being
// sent a long message, which keeps our ping waiting, or the connection is being
// closed, which has bounds of its own. It is called with watch.mu held.
func (c *Conn) alive() bool {
	c.mu.Lock()
	shut := c.shut
	c.mu.Unlock()
	before := c.watch.queued
	c.watch.queued, _ = c.sc.Unacknowledged()
	return shut || before > queuedMuch && c.watch.queued != before
}
