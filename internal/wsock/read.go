package wsock

import (
	"errors"
	"io"

	"github.com/diverge-network/gateway/internal/sock"
)

// loop is the reading goroutine. After every piece of work it ends and leaves
// the waiting to a successor, because a stack that has grown stays grown.
func (c *Conn) loop() {
	if c.turn() {
		go c.run()
	}
}

// turn waits, between two frames and without a buffer, and then works until it
// is between two frames again. It returns false when the connection is over.
func (c *Conn) turn() (again bool) {
	defer c.rescue()
	if early := c.early; early != nil {
		c.early = nil
		defer early.Release()
		return c.consume(early.B)
	}
	if amid := c.in.message != nil; amid != c.amid.Load() {
		c.amid.Store(amid)
	}
	chunk, err := c.sc.ReadIdle()
	if err != nil {
		c.lost(err)
		return false
	}
	return c.work(chunk)
}

// work consumes the chunk, and reads on for as long as a frame is under way.
func (c *Conn) work(chunk *sock.Chunk) (again bool) {
	defer chunk.Release()
	if !c.consume(chunk.B) {
		return false
	}
	for c.in.underway() {
		if !c.readOn(chunk) {
			return false
		}
	}
	return true
}

// readOn reads more of the frame under way, waiting if it must: a long payload
// straight into its message, everything else by way of the chunk.
func (c *Conn) readOn(chunk *sock.Chunk) (again bool) {
	spare, bad := c.in.spare()
	if bad != nil {
		c.violated(bad)
		return true
	}
	if spare != nil {
		n, err := c.sc.Read(spare)
		return c.act(c.in.filled(n), nil) && c.goesOn(err)
	}
	into := chunk.B[:cap(chunk.B)]
	n, err := c.sc.Read(into)
	return c.consume(into[:n]) && c.goesOn(err)
}

// goesOn is false, and the connection over, if a read brought this error.
func (c *Conn) goesOn(err error) bool {
	if err == nil {
		return true
	}
	c.lost(err)
	return false
}

// consume acts on all that p brings. It returns false when the connection is
// over.
func (c *Conn) consume(p []byte) (again bool) {
	for len(p) > 0 && !c.drains {
		rest, body, ev, bad := c.in.next(p, c.cfg.MaxMessage)
		p = rest
		c.more = len(p) > 0 || cap(p) == 0 // a full buffer may not hold all that came
		if bad != nil {
			c.violated(bad)
			break
		}
		if !c.act(ev, body) {
			return false
		}
	}
	c.in.rest()
	return true
}

// act does what an event asks for. It returns false when the connection is over.
func (c *Conn) act(ev event, body []byte) (again bool) {
	if ev != evPong && !c.in.pending() {
		c.busy.Store(true)
	}
	switch ev {
	case evMessage:
		if bad := c.handler.Message(c.in.takeMessage()); bad != nil {
			c.violated(bad)
		}
	case evText:
		if bad := c.heardText(); bad != nil {
			c.violated(bad)
		}
	case evPing:
		c.answerPing(body)
	case evClose:
		return c.closed(body)
	}
	return true
}

// lost ends the connection because reading failed: abruptly, unless its ending
// is known already.
func (c *Conn) lost(err error) {
	c.end(Ending{Cause: err})
	// After a Close the rest of what we have to say may still be on its way to
	// a peer that only half-closed.
	c.retire(c.drains && errors.Is(err, io.EOF))
}
