package wsock

import (
	"errors"
	"os"
	"time"

	"github.com/gobwas/ws"

	"github.com/diverge-network/gateway/pkg/codec"
)

const (
	// electedWrites is how often a caller of Flush writes before it leaves what
	// others keep queueing to the flushing goroutine.
	electedWrites = 4

	// writeStep is how many bytes the flushing goroutine writes at once after our
	// Close: each has closeWait to get out, so that a slow peer has the time
	// it needs and one that reads nothing does not.
	writeStep = 64 << 10

	// secureStep is that where bytes are not written as they are: TLS does not
	// survive a write that was given up.
	secureStep = 16 << 10
)

// Prefix queues raw bytes, the 101 (protocol R5: with the waiting asks in one
// write), ahead of all frames. It must come before the first Flush.
func (c *Conn) Prefix(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	behind := c.out
	if behind == nil {
		c.out = codec.GetBuffer(len(raw))
		c.out.B = append(c.out.B, raw...)
		return
	}
	c.out = codec.GetBuffer(len(raw) + len(behind.B))
	c.out.B = append(append(c.out.B, raw...), behind.B...)
	behind.Release()
}

// Append queues one binary message, header followed by payload, as one frame
// (protocol W2). It copies both, never blocks and writes nothing: Flush does.
// After a Close of either side, and after the end, the message is dropped.
// Nothing bounds what is queued but Pending, if the caller asks it.
func (c *Conn) Append(header, payload []byte) { c.queue(ws.OpBinary, header, payload, nil) }

// Charger is told of each Buffer that a message was queued in, which may have
// grown by it, so that it can be charged. It must not block and must not call back.
type Charger interface{ Charge(b *codec.Buffer) }

// AppendCharged is Append for who counts what is queued, and returns what Pending
// does then.
func (c *Conn) AppendCharged(header, payload []byte, by Charger) (pending int) {
	return c.queue(ws.OpBinary, header, payload, by)
}

func (c *Conn) queue(op ws.OpCode, header, payload []byte, by Charger) (pending int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		return 0
	}
	c.out = appendFrame(c.out, c.client(), op, header, payload)
	if by != nil {
		by.Charge(c.out)
	}
	c.busy.Store(true)
	return c.inflight + len(c.out.B)
}

// Pending is how many bytes are queued or being written.
func (c *Conn) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.inflight
	if c.out != nil {
		n += len(c.out.B)
	}
	return n
}

// Ping queues a ping and writes it. While one is queued another adds nothing.
func (c *Conn) Ping() {
	c.mu.Lock()
	c.ping = !c.shut
	c.mu.Unlock()
	c.Flush()
}

// answerPing answers with a pong. While the socket takes nothing only the
// newest ping is answered (RFC 6455, 5.5.3), so that a peer that never reads
// cannot make us grow.
func (c *Conn) answerPing(payload []byte) {
	c.mu.Lock()
	if !c.shut {
		if c.pong == nil {
			c.pong = codec.GetBuffer(maxControl)
		}
		c.pong.B = append(c.pong.B[:0], payload...)
	}
	c.mu.Unlock()
	c.Flush()
}

// Flush writes what is queued, without waiting: what the socket does not take
// at once is left to a goroutine that lives until everything is written. If a
// write is under way already, that one goes on with what is queued.
func (c *Conn) Flush() {
	c.mu.Lock()
	if c.writing {
		c.mu.Unlock()
		return
	}
	c.writing = true
	c.mu.Unlock()
	for range electedWrites {
		batch, last := c.nextBatch()
		if batch == nil {
			return
		}
		n, err := c.tryWrite(batch.B, last)
		switch {
		case err != nil:
			batch.Release()
			c.writeFailed()
			return
		case n < len(batch.B):
			go c.flush(batch, n)
			return
		}
		batch.Release()
	}
	if batch, _ := c.nextBatch(); batch != nil {
		go c.flush(batch, 0)
	}
}

func (c *Conn) tryWrite(p []byte, last bool) (int, error) {
	if last {
		return c.sc.TryWriteLast(p)
	}
	return c.sc.TryWrite(p)
}

// flush is the flushing goroutine: it writes the batch from n on, and then
// whatever has been queued meanwhile.
func (c *Conn) flush(batch *codec.Buffer, n int) {
	defer c.rescueFlush()
	for batch != nil {
		err := c.writeOut(batch.B[n:])
		batch.Release()
		if err != nil {
			c.writeFailed()
			return
		}
		c.endWait()
		batch, _ = c.nextBatch()
		n = 0
	}
}

func (c *Conn) writeOut(p []byte) error {
	step := writeStep
	if !c.sc.IsSocket() {
		step = secureStep
	}
	for len(p) > 0 {
		timed := c.renewWait()
		before, _ := c.sc.Unacknowledged()
		n, err := c.sc.Write(p[:min(len(p), step)])
		p = p[n:]
		if err != nil && (!timed || !c.takes(err, n, before)) {
			return err
		}
		c.watch.wrote(n)
	}
	return nil
}

// takes reports whether a write that failed has only taken too long, for a peer
// that has taken something meanwhile. That it was nothing is kept for the Ending.
func (c *Conn) takes(err error, n, before int) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	if c.sc.IsSocket() {
		// The system may take nothing more of us while it still sends what it took.
		if now, known := c.sc.Unacknowledged(); n > 0 || known && now < before {
			return true
		}
	}
	c.mu.Lock()
	c.stalled = !c.shut
	c.mu.Unlock()
	return false
}

// nextBatch is called by the writer alone. It takes everything that is queued,
// and says whether TCP is to be closed behind it. If nothing is queued the writer
// is none any more, and what waited for that is done.
func (c *Conn) nextBatch() (batch *codec.Buffer, last bool) {
	c.mu.Lock()
	batch = c.gather()
	if batch != nil {
		c.inflight = len(batch.B)
		c.batched += uint64(len(batch.B))
		last = c.done
		c.mu.Unlock()
		return batch, last
	}
	c.inflight = 0
	c.writing = false
	if c.awaits {
		c.awaits = false
		c.sc.SetReadDeadline(time.Now().Add(closeWait))
	}
	fin, done := c.fin, c.done
	c.fin = false
	c.mu.Unlock()
	switch {
	case done:
		c.sc.Close()
	case fin:
		c.sc.CloseWrite()
	}
	return nil, false
}

// gather makes a batch of all that is queued. Callers hold mu.
func (c *Conn) gather() *codec.Buffer {
	batch := c.out
	c.out = nil
	if c.pong != nil {
		batch = appendFrame(batch, c.client(), ws.OpPong, nil, c.pong.B)
		c.pong.Release()
		c.pong = nil
	}
	if c.ping {
		c.ping = false
		batch = appendFrame(batch, c.client(), ws.OpPing, nil, nil)
	}
	return batch
}

// drop gives up all that is queued. Callers hold mu.
func (c *Conn) drop() {
	if batch := c.gather(); batch != nil {
		batch.Release()
	}
}

// writeFailed is called by the writer, who is none any more. The connection
// has not ended by it: the peer's Close may be here already, unread, and then
// the ending is clean (protocol W6). So reading goes on, but not for long.
func (c *Conn) writeFailed() {
	c.mu.Lock()
	c.shut = true
	c.drop()
	c.batched -= uint64(c.inflight) // what of it went out nobody will ask
	c.inflight = 0
	c.writing = false
	done := c.done
	c.sc.SetReadDeadline(time.Now().Add(lingerWait))
	c.mu.Unlock()
	if done {
		c.sc.Close()
	}
}
