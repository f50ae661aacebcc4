package inside

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"time"

	"github.com/diverge-network/gateway/internal/httphead"
	"github.com/diverge-network/gateway/internal/sock"
)

// connection is a client's connection while it speaks HTTP. Its goroutine owns
// it. While it waits for a request it holds no buffer.
//
// fasthttp parses and writes what is said here, but its server does not serve
// it: that allocates a body by its declared length, before anybody has judged
// the request.
type connection struct {
	handler *Handler
	conn    *sock.Conn

	in    *bufio.Reader // of the connection itself; nil while nothing is being read
	ahead *sock.Chunk   // read already, before what conn has; nil mostly

	spoken bool          // a request has begun
	until  time.Time     // by when what is being read has to be here
	step   time.Duration // and how long until more of it; 0: no such limit
	armed  time.Time     // the read deadline that is set, as far as we know: see arm
	failed error         // of the last read

	absence   absence
	idleSince time.Time // when an exchange that was left ended; zero: now
}

// errStopping is why nothing more is read during a shutdown.
var errStopping = errors.New("the handler was shut down")

// converse answers one request after the other, until the connection has to be
// closed, or is handed over to listen.
func (c *connection) converse() *listening {
	for {
		if err := c.await(); err != nil {
			c.unspoken(err)
			return nil
		}
		c.spoken = true
		if more, handOver := c.exchange(); !more {
			return handOver
		}
	}
}

// patience is how long the first byte of a request may take. A client that has
// made one may keep its connection for the next.
func (c *connection) patience() time.Duration {
	if c.spoken {
		return c.handler.pace.idle
	}
	return c.handler.pace.head
}

// unspoken counts and logs a connection on which no request ever came, which its
// client has kept open: there is nothing to answer.
func (c *connection) unspoken(err error) {
	if h := c.handler; !c.spoken && errors.Is(err, os.ErrDeadlineExceeded) && !h.stopped() {
		h.observer.Refused(Listener, string(ReasonTimeout))
		h.logRefused(refusalFor(ReasonTimeout), "nothing came, and the connection was closed without a response", c.conn, nil)
	}
}

// exchange reads a request and answers it; more says that another may follow.
func (c *connection) exchange() (more bool, handOver *listening) {
	x := takeExchange(c)
	defer func() {
		if x != nil {
			x.release()
		}
	}()
	defer c.releaseReader()
	if refused, cause := c.readHead(&x.request.Header); refused != "" {
		x.spoilt = true
		c.handler.refuse(x, refused, detail{cause: cause})
	} else {
		x.parsed = true
		c.handler.serve(x)
	}
	switch left := x; {
	case x.listens != nil:
		return false, x.listens
	case x.left != nil:
		x = nil
		return c.leave(left), nil
	}
	return x.finish(), nil
}

// await waits for the first byte of a request. Empty lines before it, which
// some clients send behind a body, do not count.
func (c *connection) await() error {
	if c.in != nil || c.ahead != nil {
		return nil
	}
	now, since := time.Now(), c.idleSince
	if since.IsZero() {
		since = now
	}
	c.idleSince = time.Time{}
	for until := since.Add(c.patience()); ; now = time.Now() {
		if err := c.arm(now, until); err != nil {
			return err
		}
		switch err := c.peek(); {
		case err == nil && c.ahead != nil:
			return nil
		case err != nil && !c.early(err, until):
			return err
		}
	}
}

// peek waits for what the client sends, and reads it ahead, unless that is nothing
// but empty lines.
func (c *connection) peek() error {
	chunk, err := c.conn.ReadIdle()
	if err != nil {
		return err
	}
	if rest := bytes.TrimLeft(chunk.B, "\r\n"); len(rest) > 0 {
		chunk.B, c.ahead = rest, chunk
		return nil
	}
	chunk.Release()
	return nil
}

// arm has the next read end at that time, or earlier: a deadline that is set
// already and comes before is left, so that a busy connection need not set one for
// each request. What ends early is to be tried again. A shutdown, which ends
// every read, is not undone by it.
func (c *connection) arm(now, at time.Time) error {
	if !c.armed.After(now) || c.armed.After(at) {
		if err := c.conn.SetReadDeadline(at); err != nil {
			return err
		}
		c.armed = at
	}
	if c.handler.stopped() {
		return errStopping
	}
	return nil
}

// early reports whether a read has ended for its deadline, but not because it had
// to be over.
func (c *connection) early(err error, until time.Time) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.armed = time.Time{}
	return time.Now().Before(until) && !c.handler.stopped()
}

// Read implements io.Reader for c.in.
func (c *connection) Read(p []byte) (n int, err error) {
	if c.ahead != nil {
		n = copy(p, c.ahead.B)
		if c.ahead.B = c.ahead.B[n:]; len(c.ahead.B) == 0 {
			c.ahead.Release()
			c.ahead = nil
		}
		return n, nil
	}
	now := time.Now()
	at := c.until
	if c.step > 0 {
		if next := now.Add(c.step); next.Before(at) {
			at = next
		}
	}
	for ; ; now = time.Now() {
		if err = c.arm(now, at); err == nil {
			n, err = c.conn.Read(p)
		}
		if err == nil || n > 0 || !c.early(err, at) {
			break
		}
	}
	c.failed = err
	return n, err
}

// takeReader begins a read that has to be over at until.
func (c *connection) takeReader(until time.Time, step time.Duration) *bufio.Reader {
	c.until, c.step, c.failed = until, step, nil
	if c.in == nil {
		c.in = httphead.TakeReader(c)
	}
	return c.in
}

// releaseReader gives the reader back unless the next request is in it.
func (c *connection) releaseReader() {
	if c.in == nil {
		return
	}
	for n := c.in.Buffered(); n > 0; n-- {
		if b, _ := c.in.Peek(1); b[0] != '\r' && b[0] != '\n' {
			return
		}
		_, _ = c.in.Discard(1)
	}
	c.dropReader()
}

// dropReader gives the reader back, and what is in it up.
func (c *connection) dropReader() {
	if c.in != nil {
		httphead.GiveBack(c.in)
		c.in = nil
	}
	if c.ahead != nil {
		c.ahead.Release()
		c.ahead = nil
	}
}

// broken is the refusal of a request that could not be read to its end.
func (c *connection) broken(malformed string) (refused Reason, cause string) {
	switch {
	case c.failed == nil:
		return ReasonMalformed, malformed
	case c.handler.stopped():
		return ReasonShutdown, ""
	case errors.Is(c.failed, os.ErrDeadlineExceeded):
		return ReasonTimeout, ""
	default:
		return ReasonMalformed, "the connection ended within the request"
	}
}

// farewell ends our half, and reads what the client is still sending until it
// ends its own, or for a while.
func (c *connection) farewell() {
	c.dropReader()
	if err := c.conn.CloseWrite(); err != nil {
		return
	}
	scrap := sock.TakeChunk()
	defer scrap.Release()
	c.until, c.step = time.Now().Add(farewellTime), farewellStep
	for err := error(nil); err == nil; {
		_, err = c.Read(scrap.B[:cap(scrap.B)])
	}
}
