package mux

import "time"

// Sweep reports containers gone that had no inside activity for Config.Idle
// (protocol G6), and forgets those that had neither that nor a claim, an open
// path or an ask for as long (G5). It is to be called every so often, by one
// goroutine: how often is how late it is. It takes some tens of nanoseconds per
// container, and holds up no other.
func (m *Mux) Sweep() {
	if m.config.Idle <= 0 {
		return
	}
	now := m.now()
	m.containers.Range(func(_ string, c *Container) bool {
		gone, rested := c.idle(now)
		if gone {
			m.presence.leave(c, now)
		}
		if rested {
			m.forget(c, now)
		}
		return true
	})
}

// idle is a first look, without the locks that leave and forget take.
func (c *Container) idle(now time.Duration) (gone, rested bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goneLocked(now), c.restedLocked(now)
}

func (c *Container) goneLocked(now time.Duration) bool {
	return c.present && c.entered == 0 && now-c.enteredAt >= c.mux.config.Idle
}

// restedLocked leaves out how long ago an entry was: until that is long enough, c
// is present.
func (c *Container) restedLocked(now time.Duration) bool {
	return c.entered == 0 && c.claim == nil && c.asks.first == nil && c.resident.path == nil &&
		now-c.restedAt >= c.mux.config.Idle
}

// disappear reports whether c is gone with this call.
func (c *Container) disappear(now time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.goneLocked(now) {
		return false
	}
	c.present = false
	return true
}

// forget takes c out of the table, unless something has happened in it since. It
// has no channel then, and so no row in the channel table.
func (m *Mux) forget(c *Container, now time.Duration) {
	m.beginning.Lock()
	defer m.beginning.Unlock()
	if !c.forget(now) {
		return
	}
	// Whoever still holds it asks begin for its successor, and waits there.
	defer m.containers.Delete(c.id)
	if f, ok := c.sink.(Forgetter); ok {
		f.Forgotten()
	}
}

func (c *Container) forget(now time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present || c.forgotten || !c.restedLocked(now) {
		return false
	}
	c.forgotten = true
	c.endResidentLocked()
	return true
}
