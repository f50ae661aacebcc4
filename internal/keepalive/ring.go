// Package keepalive beats many quiet connections from one goroutine: a ping or
// a comment about every period, so that what lies between does not take them for
// dead (protocol W4). It costs a connection one Entry and no timer.
package keepalive

import (
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// slots is how many parts a period has: beats are spread over them, and are late
// by at most one.
const slots = 64

// Beater is what is kept alive.
type Beater interface {
	// Beat is called about every period. It must not block: all entries of the
	// ring share one goroutine. It may Add and Remove entries.
	Beat(now time.Time)
}

// Entry ties one Beater to a Ring. It is meant to be a field of what it keeps
// alive; it must not be copied while it is in a ring.
type Entry struct {
	Beater     Beater
	next, prev *Entry // both nil: in no ring
}

// Ring beats its entries. Its methods may be called from any goroutine, under
// any lock.
type Ring struct {
	// Panicked is told about a Beat that panicked; its entry is removed, the
	// others go on. Set it before Start; nil logs to slog.Default.
	Panicked func(value any, stack []byte)

	period time.Duration
	quit   chan struct{}
	ended  chan struct{}

	// mu guards what follows and the links of all entries. It is never held
	// during a Beat.
	mu      sync.Mutex
	started bool
	closed  bool
	due     Entry        // list head: what the running slot has yet to beat
	wheel   [slots]Entry // list heads
	next    int          // slot of the next Add
	entries int
}

// NewRing returns a ring that beats every entry once in period. It panics if
// period is not positive.
func NewRing(period time.Duration) *Ring {
	if period <= 0 {
		panic("keepalive: the period of a ring must be positive")
	}
	r := &Ring{period: period, quit: make(chan struct{}), ended: make(chan struct{})}
	r.due.clear()
	for i := range r.wheel {
		r.wheel[i].clear()
	}
	return r
}

// Period is how often an entry is beaten.
func (r *Ring) Period() time.Duration { return r.period }

// Start begins beating, in a goroutine that lives until Close. A second Start,
// or one after Close, does nothing.
func (r *Ring) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started || r.closed {
		return
	}
	r.started = true
	go r.turn()
}

// Close ends beating and waits for the goroutine, so for a running Beat too; a
// Beat must not call it. Entries stay, unbeaten. A second Close does nothing.
func (r *Ring) Close() {
	r.mu.Lock()
	started := r.started
	if !r.closed {
		r.closed = true
		close(r.quit)
	}
	r.mu.Unlock()
	if started {
		<-r.ended
	}
}

// Add puts e into the ring. Its first beat comes within the first period: entries
// are dealt to the slots in turn, so that many added at once are spread. It
// panics if e is in a ring already.
func (r *Ring) Add(e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.next != nil {
		panic("keepalive: entry added twice")
	}
	r.wheel[r.next].append(e)
	r.next = (r.next + 1) % slots
	r.entries++
}

// Remove takes e out of the ring; one that is in none is left alone. After it
// returned no Beat of e begins. One that had begun may still be running beside
// the caller: Remove does not wait for it, so that it can be called from within
// Beat and under locks that Beat takes.
func (r *Ring) Remove(e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.next == nil {
		return
	}
	e.unlink()
	r.entries--
}

// Len is how many entries the ring has.
func (r *Ring) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// turn is the ring's goroutine; Close ends it.
func (r *Ring) turn() {
	defer close(r.ended)
	ticker := time.NewTicker(max(r.period/slots, 1))
	defer ticker.Stop()
	for slot := 0; ; slot = (slot + 1) % slots {
		select {
		case <-r.quit:
			return
		case now := <-ticker.C:
			r.beatSlot(slot, now)
		}
	}
}

func (r *Ring) beatSlot(slot int, now time.Time) {
	r.mu.Lock()
	r.due.takeAll(&r.wheel[slot])
	r.mu.Unlock()
	for {
		e := r.pop(slot)
		if e == nil {
			return
		}
		r.beat(e, now)
	}
}

// pop moves the next due entry back to its slot, before its beat: from then on
// Remove finds it there.
func (r *Ring) pop(slot int) *Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.wheel[slot].takeAll(&r.due)
	}
	e := r.due.next
	if e == &r.due {
		return nil
	}
	e.unlink()
	r.wheel[slot].append(e)
	return e
}

func (r *Ring) beat(e *Entry, now time.Time) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		r.Remove(e)
		stack := debug.Stack()
		if r.Panicked != nil {
			r.Panicked(v, stack)
			return
		}
		slog.Error("a keep-alive beat panicked", "panic", v, "stack", string(stack))
	}()
	e.Beater.Beat(now)
}
