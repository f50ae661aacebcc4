package wsock

import (
	"errors"
	"io"

	"github.com/diverge-network/gateway/internal/sock"
)

// loop is the reading goroutine. A stack that has grown stays grown: it works on
// one of Config.Stacks, or else it ends after every piece of work and leaves the
// waiting to a successor.
func (c *Conn) loop() {
	if stacks := c.cfg.Stacks; stacks != nil {
		for c.turn(stacks.work) {
		}
	} else if c.turn((*Conn).worked) {
		go c.run()
	}
}

// turn waits, between two frames and without a buffer, and then works until it
// is between two frames again. It returns false when the connection is over.
func (c *Conn) turn(work func(*Conn, *sock.Chunk) bool) (again bool) {
	defer c.rescue()
	if c.early != nil {
		return work(c, nil)
	}
	if amid := c.in.message != nil; amid != c.amid.Load() {
		c.amid.Store(amid)
	}
	chunk, err := c.sc.ReadIdle()
	if err != nil {
		c.lost(err)
		return false
	}
	return work(c, chunk)
}

// worked acts on what came early, or on the chunk, and reads on for as long as a
// frame is under way. It returns false when the connection is over.
func (c *Conn) worked(chunk *sock.Chunk) (again bool) {
	defer c.rescue()
	if chunk == nil {
		early := c.early
		c.early = nil
		defer early.Release()
		return c.consume(early.B)
	}
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
	if spare := c.in.spare(); spare != nil {
		n, err := c.sc.Read(spare)
		again = c.act(c.in.filled(n), nil)
		c.lull()
		return again && c.goesOn(err)
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
			c.lull()
			c.violated(bad)
			break
		}
		if !c.act(ev, body) {
			return false
		}
	}
	c.in.rest()
	c.lull()
	return true
}

// lull tells a handler that gathers messages that there are no more for now.
func (c *Conn) lull() {
	if g, gathers := c.handler.(Gatherer); gathers && !c.ended {
		g.Lull()
	}
}

// act does what an event asks for. It returns false when the connection is over.
func (c *Conn) act(ev event, body []byte) (again bool) {
	if ev != evPong && !c.in.pending() {
		c.busy.Store(true)
	}
	switch ev {
	case evMessage:
		if bad := c.handler.Message(c.in.takeMessage()); bad != nil {
			c.lull()
			c.violated(bad)
		}
	case evText:
		if bad := c.heardText(); bad != nil {
			c.violated(bad)
		}
	case evPing:
		c.lull() // a pong says that what came before the ping is dealt with
		c.answerPing(body)
	case evClose:
		c.lull()
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
