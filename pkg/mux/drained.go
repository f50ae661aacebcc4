package mux

// Drainer is a Socket of a kind-4 path that can tell whether what has arrived on
// it was handed on.
type Drainer interface {
	// Drained reports that every byte that had arrived by the time of the call
	// was handed to the Path, which has returned. It must be true only where that
	// is known. It is called with no lock held, from any goroutine, also after the
	// path has ended; it must not block.
	Drained() bool
}

// Drained reports whether the container's notifications path has nothing unread:
// of what had arrived on it by the time of the call, every notification has been
// given to the Sink. It is true where no path is open, and false where the path's
// Socket is no Drainer, or does not know. What is still on its way is nobody's
// knowledge. It never blocks: who waits for it asks again, for a bounded time.
func (c *Container) Drained() bool {
	s := c.notificationsSocket()
	if s == nil {
		return true
	}
	d, ok := s.(Drainer)
	return ok && d.Drained()
}

func (c *Container) notificationsSocket() Socket {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.resident.path; p != nil {
		return p.socket
	}
	return nil
}
