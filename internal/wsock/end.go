package wsock

import (
	"runtime/debug"
	"time"

	"github.com/gobwas/ws"
)

// Close begins the closing handshake (protocol A10): it queues a Close behind
// everything else and writes it. The connection ends when the peer has
// answered, cleanly, or without an answer in 5 s, abruptly. Messages that the
// peer sends before its Close are still delivered. A code of NoStatus sends no
// status; a reason is cut to 123 bytes. After a Close of either side it does
// nothing.
func (c *Conn) Close(code uint16, reason string) {
	c.mu.Lock()
	if c.shut {
		c.mu.Unlock()
		return
	}
	c.queueClose(code, reason)
	c.awaits = true
	c.sc.SetWriteDeadline(time.Now().Add(closeWait))
	c.mu.Unlock()
	c.Flush()
}

// Cut ends TCP without a Close, whatever is queued: the ending is abrupt.
func (c *Conn) Cut() { c.sc.Close() }

// renewWait gives the next slice of what is written its time to get out: where it
// precedes our Close, and where there is a Config.Stall, which timed says.
func (c *Conn) renewWait() (timed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.awaits:
		c.sc.SetWriteDeadline(time.Now().Add(closeWait))
	case !c.shut && c.cfg.Stall > 0:
		c.sc.SetWriteDeadline(time.Now().Add(c.cfg.Stall))
		c.timed = true
	}
	return c.timed && !c.shut
}

// endWait takes the deadline of a Config.Stall back. One of our Close, or of the
// end, stays.
func (c *Conn) endWait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed && !c.shut {
		c.sc.SetWriteDeadline(time.Time{})
	}
	c.timed = false
}

// queueClose makes a Close the last frame. Callers hold mu.
func (c *Conn) queueClose(code uint16, reason string) {
	if c.shut {
		return
	}
	c.shut = true
	c.ping = false
	if c.pong != nil {
		c.pong.Release()
		c.pong = nil
	}
	var room [maxControl]byte
	c.out = appendFrame(c.out, c.client(), ws.OpClose, nil, appendCloseBody(room[:0], code, reason))
}

// end tells the handler how the connection ended, once.
func (c *Conn) end(e Ending) {
	if c.ended {
		return
	}
	c.ended = true
	c.mu.Lock()
	e.Stalled = c.stalled && !e.Clean
	c.mu.Unlock()
	c.handler.Ended(e)
}

// closed takes the peer's Close, in the order of protocol W6: recorded, settled
// by the handler, answered, TCP closed. As a client we leave closing TCP to the
// server, for a while, so that the server's side keeps the port (RFC 6455,
// 7.1.1). A peer that sends on behind its Close is read for a while, as closing
// with bytes unread is a reset, which would go out instead of our answer.
func (c *Conn) closed(body []byte) (again bool) {
	code, answer, reason := judgeClose(body)
	lingers := c.client() || c.more
	c.end(Ending{Clean: true, Code: code, Lingers: lingers})
	c.drains = lingers
	c.farewell(answer, reason, lingers && !c.client(), !lingers)
	if lingers {
		c.in.release()
		return true
	}
	c.leave() // TCP is closed by whoever writes the last
	return false
}

// violated ends the connection abruptly, and says so to the peer in a Close.
func (c *Conn) violated(v *Violation) {
	c.end(Ending{Code: v.Code, TooBig: v == errTooBig, Cause: v, Lingers: true})
	c.drains = true
	c.in.release()
	c.farewell(v.Code, v.Reason, true, false)
}

// farewell says the last that is to be said: a Close, if none was said before,
// then the end of our half (fin) or of TCP (done). What has not happened after
// lingerWait will not.
func (c *Conn) farewell(code uint16, reason string, fin, done bool) {
	c.mu.Lock()
	c.queueClose(code, reason)
	c.awaits = false
	c.fin = fin
	c.done = done
	c.mu.Unlock()
	c.Flush()
	c.mu.Lock()
	if c.writing || !done {
		c.sc.SetDeadline(time.Now().Add(lingerWait))
	}
	c.mu.Unlock()
}

// retire ends the reading goroutine's part: TCP is closed now or, if soft, once
// everything is written.
func (c *Conn) retire(soft bool) {
	c.leave()
	c.mu.Lock()
	c.shut = true
	c.done = true
	writing := c.writing
	if !writing {
		c.drop()
	}
	c.mu.Unlock()
	if !writing || !soft {
		c.sc.Close()
	}
}

// leave gives back what only a reader needs.
func (c *Conn) leave() {
	if c.cfg.Ring != nil {
		c.cfg.Ring.Remove(&c.entry)
	}
	c.endWatch()
	c.in.release()
}

// rescue is deferred by the reading goroutine: a panic ends its connection,
// abruptly, and nothing else.
func (c *Conn) rescue() {
	v := recover()
	if v == nil {
		return
	}
	stack := c.report(v)
	defer c.retire(false)
	defer func() {
		if v := recover(); v != nil {
			c.report(v)
		}
	}()
	c.end(Ending{Cause: &PanicError{Value: v, Stack: stack}})
}

// rescueFlush is deferred by the flushing goroutine: closing TCP ends the
// reading one too.
func (c *Conn) rescueFlush() {
	if v := recover(); v != nil {
		c.report(v)
		c.sc.Close()
	}
}

func (c *Conn) report(v any) (stack []byte) {
	stack = debug.Stack()
	if c.cfg.OnPanic != nil {
		c.cfg.OnPanic(v, stack)
	}
	return stack
}
