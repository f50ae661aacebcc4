package inside

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// A connection's goroutine need not wait for an answer: it may leave the exchange
// behind and wait for the next request. Who brings the answer delivers it then,
// without waking anybody, which is one change of goroutines less for an exchange,
// and the client has it sooner. Whatever else happens, the goroutine takes
// the exchange back, and goes on as if it had waited.

// maxDelivered is the longest response that is delivered by who brings the answer,
// who writes it in one piece or not at all.
const maxDelivered = 32 << 10

// absence is what a connection has while its goroutine has left an exchange.
type absence struct {
	// gone says that it has. Who has something to say to it while it has calls it
	// back, after saying it.
	gone atomic.Bool

	// turn is held by whoever writes the response, and to take an exchange back. It
	// is taken before any other lock.
	turn  sync.Mutex
	left  *exchange     // guarded by turn
	rest  *codec.Buffer // of a response that the client did not take at once, or nil; guarded by turn
	ended time.Time     // when the latest response was written; guarded by turn
}

// leavable reports whether a reply whose one call was asked may be left to
// whoever brings the answer: nothing but that has to be written, and that in the
// plainest way.
func (r *reply) leavable() bool {
	c, head := r.x.client, &r.x.request.Header
	return c.conn.IsSocket() && c.in == nil && c.ahead == nil && r.queue == nil && r.handler.cfg.SSEAfter != 0 &&
		r.x.read && head.IsHTTP11() && !head.ConnectionClose() && len(head.PeekBytes(originName)) == 0
}

var originName = []byte("Origin")

// exit exits a container that was entered for x, unless x is left, which is then
// exited when that is over.
func (x *exchange) exit(c *mux.Container) {
	if x.left == nil {
		c.Exit()
	}
}

// leave leaves x, which is the connection's no longer, until the next request
// begins, or something has to be done about x. It reports whether another request
// may follow.
func (c *connection) leave(x *exchange) (more bool) {
	said, began := x.left.news, x.left.began
	c.absence.turn.Lock()
	c.absence.left = x
	c.absence.gone.Store(true)
	c.absence.turn.Unlock()
	c.stayAway(said, began)
	if rest, taken := c.comeBack(x); taken {
		return c.resume(x)
	} else if rest != nil {
		defer rest.Release()
		_, err := c.conn.Write(rest.B)
		return err == nil
	}
	return true
}

// stayAway returns when there is something to do for the connection's goroutine.
// What it looks at is not x, which is another's already.
func (c *connection) stayAway(said <-chan news, began time.Time) {
	for now := began; c.ahead == nil; now = time.Now() {
		until := now.Add(c.handler.pace.idle)
		if after := c.handler.cfg.SSEAfter; after > 0 {
			if soon := began.Add(after); soon.Before(until) {
				until = soon
			}
		}
		if c.arm(now, until) != nil || len(said) > 0 || !c.absence.gone.Load() {
			return
		}
		if err := c.peek(); err != nil && !c.early(err, until) {
			return
		}
	}
}

// comeBack takes x back, if it is not answered yet. Otherwise rest is what of
// that is still to be written.
func (c *connection) comeBack(x *exchange) (rest *codec.Buffer, taken bool) {
	a := &c.absence
	a.turn.Lock()
	defer a.turn.Unlock()
	taken, rest = a.left == x, a.rest
	a.left, a.rest = nil, nil
	a.gone.Store(false)
	if !taken {
		c.idleSince = a.ended
	}
	return rest, taken
}

// callBack has the connection's goroutine come back if it is away. Where it comes
// too late it ends a read for nothing, which is tried again.
func (c *connection) callBack() {
	if c.absence.gone.Load() {
		_ = c.conn.SetReadDeadline(longAgo) // where this fails, so does the read
	}
}

// resume waits for an exchange that was taken back.
func (c *connection) resume(x *exchange) (more bool) {
	defer x.release()
	c.handler.resume(x)
	return x.finish()
}

func (h *Handler) resume(x *exchange) {
	defer h.recovered(x)
	r := x.left
	x.left = nil
	defer r.container.Exit()
	defer r.release()
	r.wait()
	r.respond()
}

// deliver writes the response of a call that has just been settled, if that was
// left to it, and ends the exchange. It never waits.
func (r *reply) deliver(c *call) bool {
	x, client := r.x, r.x.client
	if len(c.out.B) > maxDelivered || r.handler.stopped() {
		return false
	}
	a := &client.absence
	a.turn.Lock()
	defer a.turn.Unlock()
	if a.left != x {
		return false
	}
	a.left = nil
	a.gone.Store(false)
	container, exited, written := r.container, false, false
	defer func() { // also when something panics, of which others tell
		if !exited {
			container.Exit()
		}
		if !written {
			_ = client.conn.Close()
		}
	}()
	r.finish(c, callSettled)
	r.done = true
	r.respond()
	r.release()
	exited = true
	container.Exit()
	a.rest, written = x.dispatch()
	a.ended = time.Now()
	x.release()
	if a.rest != nil {
		_ = client.conn.SetReadDeadline(longAgo)
	}
	return true
}

// dispatch writes the response without waiting, and returns what of it the client
// has not taken.
func (x *exchange) dispatch() (rest *codec.Buffer, ok bool) {
	header, body := &x.response.Header, x.out.B
	header.SetContentLength(len(body))
	head := header.Header()
	all := codec.GetBuffer(len(head) + len(body))
	all.B = append(append(all.B, head...), body...)
	all.Inherit(x.out)
	n, err := x.client.conn.TryWrite(all.B)
	if err == nil && n < len(all.B) {
		all.B = append(all.B[:0], all.B[n:]...)
		return all, true
	}
	all.Release()
	return nil, err == nil
}
