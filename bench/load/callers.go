//go:build linux

package load

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/bench/wire"
)

// Request is one call that a caller makes.
type Request struct {
	Bytes []byte
	Want  []byte // has to be in the response's body
}

// Caller is an MCP client on a connection of its own. It makes its requests again and again, one at a time.
type Caller struct {
	far      wire.Far
	to       *unix.SockaddrInet4
	tally    *tally
	requests []Request
	turn     int
	began    int64
	waits    bool
	reply    wire.Reply
	stamp    *stamp
}

// AddCaller connects a caller.
func (c *Crew) AddCaller(addr string, requests []Request) (*Caller, error) {
	to, err := wire.Address(addr)
	if err != nil {
		return nil, err
	}
	n := len(c.starts)
	caller := &Caller{tally: c.at(n), to: to, requests: requests, reply: wire.Reply{OK: true}}
	caller.far.User = caller
	if err := caller.tally.loop.Open(&caller.far, to); err != nil {
		return nil, err
	}
	c.starts = append(c.starts, caller.start)
	return caller, nil
}

// Stamp has the caller's exchanges stamped, as those of that number.
func (c *Caller) Stamp(stamps Stamps, number int) error {
	c.stamp = &stamps[number]
	return c.far.Stamped()
}

// start is called before the loops run.
func (c *Caller) start() error {
	if c.far.Gone() { // servers close what was quiet for a while
		c.far.Close()
		if err := c.tally.loop.Open(&c.far, c.to); err != nil {
			return err
		}
	}
	if p := &c.tally.pace; p.every > 0 {
		p.free = append(p.free, c)
		return nil
	}
	return c.call(wire.Clock())
}

// call makes a call that was due at that time.
func (c *Caller) call(due int64) error {
	request := c.requests[c.turn]
	if c.turn++; c.turn == len(c.requests) {
		c.turn = 0
	}
	c.began, c.waits, c.reply.Want = due, true, request.Want
	c.tally.crew.inFlight.Add(1)
	if c.stamp != nil {
		c.stamp.asked = wire.Now()
	}
	return c.far.Send(request.Bytes)
}

// Arrived implements wire.User.
func (c *Caller) Arrived(f *wire.Far, b []byte) (done int, err error) {
	if !c.waits {
		return 0, fmt.Errorf("a response to nothing: %.200q", b)
	}
	done, whole, err := c.reply.Feed(b)
	if err != nil || !whole {
		return done, err
	}
	if done < len(b) {
		return 0, fmt.Errorf("more than a response: %.200q", b[done:])
	}
	if c.stamp != nil {
		c.tally.inside.Record(c.stamp.inside(f.At))
	}
	return done, c.answered()
}

func (c *Caller) answered() error {
	c.waits = false
	c.tally.finished(c.began)
	c.tally.crew.inFlight.Add(-1)
	if !c.tally.crew.open.Load() {
		return nil
	}
	if c.tally.pace.every > 0 {
		c.tally.pace.free = append(c.tally.pace.free, c)
		return nil
	}
	return c.call(wire.Clock())
}

// Ended implements wire.User.
func (c *Caller) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("a caller's connection was closed by the server: %v", cause)
}
