package mux

import "time"

// rest is for how long a container must have had nothing.
type rest struct {
	now, length time.Duration
	// early is a rest that only a container has to which nothing at all happens:
	// one with a claim is not reported gone by it.
	early bool
}

// Sweep reports containers gone that had no inside activity for Config.Idle
// (protocol G6), and forgets those that had neither that nor a claim, an open
// path or an ask for as long (G5). It is to be called every so often, by one
// goroutine: how often is how late it is. It takes some tens of nanoseconds per
// container, and holds up no other.
func (m *Mux) Sweep() {
	if m.config.Idle > 0 {
		m.sweep(rest{now: m.now(), length: m.config.Idle})
	}
}

func (m *Mux) sweep(since rest) (forgotten int) {
	m.containers.Range(func(_ string, c *Container) bool {
		gone, rested := c.idle(since)
		if gone {
			m.presence.leave(c, since)
		}
		if rested && m.forget(c, since) {
			forgotten++
		}
		return true
	})
	return forgotten
}

// idle is a first look, without the locks that leave and forget take.
func (c *Container) idle(since rest) (gone, rested bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goneLocked(since), c.restedLocked(since)
}

func (c *Container) goneLocked(since rest) bool {
	return c.present && c.entered == 0 && since.now-c.enteredAt >= since.length && (!since.early || c.restedLocked(since))
}

// restedLocked leaves out how long ago an entry was: until that is long enough, c
// is present.
func (c *Container) restedLocked(since rest) bool {
	return c.entered == 0 && c.claim == nil && c.asks.first == nil && c.resident.path == nil &&
		since.now-c.restedAt >= since.length
}

// disappear reports whether c is gone with this call.
func (c *Container) disappear(since rest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.goneLocked(since) {
		return false
	}
	c.present = false
	return true
}

// forget takes c out of the table, unless something has happened in it since. It
// has no channel then, and so no row in the channel table.
func (m *Mux) forget(c *Container, since rest) bool {
	m.beginning.Lock()
	defer m.beginning.Unlock()
	if !c.forget(since) {
		return false
	}
	// Whoever still holds it asks begin for its successor, and waits there.
	defer m.containers.Delete(c.id)
	if f, ok := c.sink.(Forgetter); ok {
		f.Forgotten()
	}
	return true
}

func (c *Container) forget(since rest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present || c.forgotten || !c.restedLocked(since) {
		return false
	}
	c.forgotten = true
	c.endResidentLocked()
	return true
}
