package sock

// TryWrite writes what fits without waiting and returns how many bytes that
// were: 0 and no error where nothing did. Where the connection has no such way
// (pipes, foreign TLS) nothing ever fits, and the caller goes on to Write. A write
// deadline that has passed fails it, as it fails Write. It does not keep p.
func (c *Conn) TryWrite(p []byte) (int, error) {
	if c.raw == nil || len(p) == 0 {
		return c.trySlowly(p, false)
	}
	return tryWrite(c.raw, p, nil, false)
}

// TryWriteLast is TryWrite of what is the last: once all of it is taken the
// caller closes the connection, at once, and the end goes out in one segment with
// it where the system can do that.
func (c *Conn) TryWriteLast(p []byte) (int, error) {
	if c.raw == nil || len(p) == 0 {
		return c.trySlowly(p, true)
	}
	return tryWrite(c.raw, p, nil, true)
}

// TryWrite2 is TryWrite of head followed by body, in one system call where the
// system can; the count runs over both.
func (c *Conn) TryWrite2(head, body []byte) (int, error) {
	switch {
	case c.raw == nil:
		if o := c.secure(); o != nil {
			return o.tryWrite2(head, body)
		}
		return 0, nil
	case len(head) == 0:
		return c.TryWrite(body)
	case len(body) == 0:
		return c.TryWrite(head)
	}
	return tryWrite(c.raw, head, body, false)
}

// trySlowly is TryWrite, or TryWriteLast, without the fast way.
func (c *Conn) trySlowly(p []byte, last bool) (int, error) {
	if o := c.secure(); o != nil && len(p) > 0 {
		return o.tryWrite(p, last)
	}
	return 0, nil
}
