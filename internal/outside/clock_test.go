package outside

import (
	"sync"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

// clock is a mux.Clock that stands still until a test moves it.
type clock struct {
	mu     sync.Mutex
	now    time.Duration
	timers map[*timer]struct{}
}

type timer struct {
	clock *clock
	due   time.Duration
	call  func()
}

func newClock() *clock { return &clock{timers: map[*timer]struct{}{}} }

func (c *clock) AfterFunc(d time.Duration, f func()) mux.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, due: c.now + d, call: f}
	c.timers[t] = struct{}{}
	return t
}

func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, armed := t.clock.timers[t]
	delete(t.clock.timers, t)
	return armed
}

// Now is the clock's time as a mux.Config wants it.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(1_800_000_000, 0).Add(c.now)
}

// armed is how many timers run.
func (c *clock) armed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// advance moves the clock and makes the calls that are due, in this goroutine.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.now += d
	var due []*timer
	for t := range c.timers {
		if t.due <= c.now {
			due = append(due, t)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, t := range due {
		t.call()
	}
}
