package wsock

// Drained reports that whatever had arrived by the time of the call is handled:
// every message in it was given to the Handler, which has returned, and it does
// not end within a message. It is true only where that is known, thus not before
// Serve, after the end, or on a connection without the ways of package sock, such
// as one that was dialled with TLS; see sock.Conn.Drained. It never blocks.
func (c *Conn) Drained() bool {
	// In this order: amid is set before the reader waits within a message, and
	// taken back after the Handler has had it.
	return c.sc.Drained() && !c.amid.Load()
}

// Position is where in the stream of our bytes the next message will begin; what
// was Appended before lies ahead of it. See Arrived.
func (c *Conn) Position() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.batched
	if c.out != nil {
		at += uint64(len(c.out.B))
	}
	return at
}

// Arrived reports that what lies ahead of the position is written and, where the
// system tells (Linux), acknowledged by the peer's: it has arrived there, if TCP
// runs as far as to the peer. What is written at once counts at once, so that it
// may be false a little longer than it must. What was dropped never arrives; of
// what was written before the end nobody can tell any more, and it counts as
// arrived. It never blocks.
func (c *Conn) Arrived(position uint64) bool {
	c.mu.Lock()
	written := c.batched - uint64(c.inflight)
	c.mu.Unlock()
	if written < position {
		return false
	}
	// Looked at after: what is written in between is counted twice, not left out.
	n, _ := c.sc.Unacknowledged()
	return written >= position+uint64(n)
}
