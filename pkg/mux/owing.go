package mux

// Owing is how many callers wait for the end of an ask that a server has been told
// of: it may be at work on it. What waits for a first connection is not among them.
func (m *Mux) Owing() (callers int) {
	m.containers.Range(func(_ string, c *Container) bool {
		callers += c.owing()
		return true
	})
	return callers
}

func (c *Container) owing() (callers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for a := range c.asks.all {
		if a.caller != nil && a.generation > 0 {
			callers++
		}
	}
	return callers
}
