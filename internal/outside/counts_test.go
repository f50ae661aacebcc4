package outside

import (
	"sync"
	"sync/atomic"
)

// counts is an Observer.
type counts struct {
	mu             sync.Mutex
	refused        map[string]int
	open           map[string]int
	opened, closed int
	panicked       map[string]int
	onOpened       func(path string)
	cursed         string // path at whose closing it panics
	cursedReason   string // and the reason of a refusal
}

func newCounts() *counts {
	return &counts{refused: map[string]int{}, open: map[string]int{}, panicked: map[string]int{}}
}

func (c *counts) Refused(listener, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[listener+" "+reason]++
	if reason == c.cursedReason {
		panic("an observer's fault")
	}
}

func (c *counts) SocketOpened(path string) {
	c.mu.Lock()
	c.open[path]++
	c.opened++
	onOpened := c.onOpened
	c.mu.Unlock()
	if onOpened != nil {
		onOpened(path)
	}
}

// whenOpened calls f, once, when a socket of that path has opened and has not
// sent its 101.
func (c *counts) whenOpened(path string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var called atomic.Bool
	c.onOpened = func(opened string) {
		if opened == path && !called.Swap(true) {
			f()
		}
	}
}

func (c *counts) SocketClosed(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[path]--
	c.closed++
	if path == c.cursed {
		panic("an observer's fault")
	}
}

func (c *counts) Panicked(where string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panicked[where]++
}

func (c *counts) refusals(r Reason) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[Listener+" "+string(r)]
}

func (c *counts) sockets() (opened, closed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened, c.closed
}

func (c *counts) openNow(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[path]
}

func (c *counts) panics() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.panicked {
		n += p
	}
	return n
}
