package mux

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Follower is told which containers are present (protocol G6): those with inside
// activity now, or until less than Config.Idle ago. Calls come one at a time and
// in order, each change exactly once. They are made under a lock that every
// coming and going waits for: they must not block and must not call back.
type Follower interface {
	// Snapshot is called once, before Follow returns and before any change, with
	// the containers that are present now, in no order. ids is the follower's.
	Snapshot(ids []string)
	// Came says that a container is present that was not.
	Came(id string)
	// Went says that a container is present no longer.
	Went(id string)
}

// presence is who is told of comings and goings.
type presence struct {
	mu        sync.Mutex // held over each change and its telling
	followers []*following
	count     atomic.Int64 // containers that are present; written under mu
}

// following tells apart followers that are equal.
type following struct{ Follower }

// Enter says that an inside activity of a container begins: a request that is
// being served, or a stream that is open. The container begins if it must
// (protocol G5), is present (G6), and stays until Exit was called as often as
// Enter. For a container that is there it allocates nothing. The id must satisfy
// ValidID; it is copied when kept. A *LimitError refuses a container that would be
// a new one.
func (m *Mux) Enter(id string) (c *Container, err error) {
	for c = m.Lookup(id); c == nil || !c.enter(); {
		if c, err = m.begin(id); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// enter reports false if the container was forgotten.
func (c *Container) enter() bool {
	present, forgotten := c.countEntry()
	if forgotten {
		return false
	}
	if !present {
		c.mux.presence.come(c)
	}
	return true
}

func (c *Container) countEntry() (present, forgotten bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.forgotten {
		c.entered++
	}
	return c.present, c.forgotten
}

// Exit ends the inside activity that one Enter began.
func (c *Container) Exit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entered == 0 {
		c.mux.illegal("an exit without an entry")
		return
	}
	c.entered--
	c.enteredAt = c.mux.now()
}

// Follow tells f of every container that is present, comes or goes, until stop
// is called, which waits for a call that is being made.
func (m *Mux) Follow(f Follower) (stop func()) {
	p := &m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]string, 0, p.count.Load())
	m.containers.Range(func(id string, c *Container) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.present {
			ids = append(ids, id)
		}
		return true
	})
	f.Snapshot(ids)
	added := &following{f}
	p.followers = append(p.followers, added)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.followers = slices.DeleteFunc(p.followers, func(f *following) bool { return f == added })
	}
}

// come makes c, which was entered, present.
func (p *presence) come(c *Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.appear() {
		return // another entry was quicker
	}
	p.count.Add(1)
	for _, f := range p.followers {
		f.Came(c.id)
	}
}

func (c *Container) appear() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.present
	c.present = true
	return !was
}

// leave makes c gone, unless it was entered since.
func (p *presence) leave(c *Container, since rest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.disappear(since) {
		return
	}
	p.count.Add(-1)
	for _, f := range p.followers {
		f.Went(c.id)
	}
}
