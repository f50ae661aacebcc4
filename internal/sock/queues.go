package sock

// Drained reports, without waiting, that what the peer had sent and the system
// had taken in by the time of the call is handled: none of it is unread, and
// whoever reads has come back to ReadIdle, which waits. It is true only where
// that is known, thus never on a connection without the fast way, nor before the
// first ReadIdle or after one that failed.
func (c *Conn) Drained() bool {
	// In this order: what is no longer unread was read by an attempt that had
	// taken waits back, and that is given again only by an attempt made
	// after all of it was handled.
	if c.raw == nil {
		o := c.secure()
		return o != nil && o.drained()
	}
	return !unread(c.raw) && c.waits.Load()
}

// Unacknowledged is how many bytes were written that the peer's system has not
// acknowledged; where the connection has no socket, or the system does not tell,
// known is false. Bytes that are acknowledged have arrived: the peer need not
// have read them.
func (c *Conn) Unacknowledged() (n int, known bool) {
	raw := c.transport()
	if raw == nil {
		return 0, false
	}
	n, known = unacknowledged(raw)
	if o := c.secure(); o != nil && known {
		n += o.wire.queued()
	}
	return n, known
}
