package wsock

// Drained reports that whatever had arrived by the time of the call is handled:
// every message in it was given to the Handler, which has returned, and it does
// not end within a message. It is true only where that is known, thus never on
// TLS, before Serve, or after the end; see sock.Conn.Drained. It never blocks.
func (c *Conn) Drained() bool {
	// In this order: amid is set before the reader waits within a message, and
	// taken back after the Handler has had it.
	return c.sc.Drained() && !c.amid.Load()
}

// Delivered reports that all that was queued is written and, where the system
// tells (Linux), acknowledged by the peer's: it has arrived there. It is true as
// well when the rest will never be written, after the end or a failure. It never
// blocks.
func (c *Conn) Delivered() bool {
	if c.Pending() > 0 {
		return false
	}
	n, known := c.sc.Unacknowledged()
	return !known || n == 0
}
