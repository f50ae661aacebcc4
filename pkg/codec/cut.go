package codec

// cutter copies JSON without some of the members of its objects. Of each
// object entered it is told every member, in order, by where the name begins
// and the value ends. Objects within that one may be entered only when it is
// done.
type cutter struct {
	dst, src []byte
	at       int // src up to here is in dst, or cut
	last     int // end of the member told last
	kept     int // members kept of the object entered
	cut      int // members cut of it
}

// enter begins an object whose first byte is before end.
func (c *cutter) enter(end int) { c.last, c.kept, c.cut = end, 0, 0 }

func (c *cutter) keep(start, end int) {
	if c.kept == 0 && c.cut > 0 {
		c.at = start
	}
	c.kept++
	c.last = end
}

func (c *cutter) drop(start, end int) {
	switch {
	case c.kept > 0:
		c.copyTo(c.last)
	case c.cut == 0:
		c.copyTo(start)
	}
	c.at, c.last = end, end
	c.cut++
}

// add adds a member behind the others, once all have been told.
func (c *cutter) add(member []byte) {
	c.copyTo(c.last)
	if c.kept > 0 {
		c.dst = append(c.dst, ',')
	}
	c.kept++
	c.dst = append(c.dst, member...)
}

// replace puts other bytes in the place of src[from:to], of what is kept.
func (c *cutter) replace(from, to int, with []byte) {
	c.copyTo(from)
	c.dst = append(c.dst, with...)
	c.at = to
}

func (c *cutter) copyTo(end int) {
	c.dst = append(c.dst, c.src[c.at:end]...)
	c.at = end
}

// rest copies what follows.
func (c *cutter) rest() []byte {
	c.copyTo(len(c.src))
	return c.dst
}
