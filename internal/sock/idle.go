package sock

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// idleRead carries one ReadIdle into a callback that was made once. A goroutine
// that waits has one on loan, so that it is small.
type idleRead struct {
	conn    *Conn
	chunk   *Chunk
	attempt func(fd uintptr) bool
}

const peerEnded = -1

var idleReads = sync.Pool{New: func() any {
	r := new(idleRead)
	r.attempt = r.read
	return r
}}

// ReadIdle waits until the peer has sent something and returns it in a chunk
// that the caller Releases. While it waits no buffer is held. It ends with
// io.EOF when the peer ended its half, and with Read's errors otherwise (a read
// deadline, a reset, net.ErrClosed); the chunk is nil then. It returns at least
// one byte; on connections without the fast way, exactly one, and the rest is
// for Read.
func (c *Conn) ReadIdle() (*Chunk, error) {
	if c.raw == nil {
		if o := c.secure(); o != nil {
			chunk, _, err := o.readIdle(-1)
			return chunk, err
		}
		return c.readFirst()
	}
	r := idleReads.Get().(*idleRead)
	r.conn = c
	chunk, err := r.outcome(c.raw.Read(r.attempt))
	idleReads.Put(r)
	return chunk, err
}

// outcome is what has become of a read whose callback is over, and forgets it.
func (r *idleRead) outcome(err error) (*Chunk, error) {
	c, chunk := r.conn, r.chunk
	switch {
	case err != nil:
		err = closing(c.raw, err)
	case c.errno == peerEnded:
		err = io.EOF
	case c.errno != 0:
		err = os.NewSyscallError("read", syscall.Errno(c.errno))
	}
	c.errno, r.conn, r.chunk = 0, nil, nil
	if err != nil {
		c.waits.Store(false)
		return nil, err
	}
	return chunk, nil
}

// read is one attempt; false parks the goroutine until the socket is readable.
func (r *idleRead) read(fd uintptr) bool {
	r.conn.waits.Store(false)
	chunk := TakeChunk()
	n, errno := readSocket(fd, chunk.room[:])
	if n > 0 {
		chunk.B = chunk.room[:n]
		r.chunk = chunk
		return true
	}
	chunk.Release()
	switch errno {
	case syscall.EAGAIN:
		r.conn.waits.Store(true)
		return false
	case 0:
		r.conn.errno = peerEnded
	default:
		r.conn.errno = int16(errno)
	}
	return true
}

// readFirst waits with a buffer of one byte: a TLS connection then has the rest
// of the record at hand.
func (c *Conn) readFirst() (*Chunk, error) {
	for {
		n, err := c.Conn.Read(c.first[:])
		if n > 0 {
			chunk := TakeChunk()
			chunk.B = append(chunk.B, c.first[0])
			return chunk, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// timedRead is an idleRead that sets a deadline before it waits.
type timedRead struct {
	idleRead
	within  time.Duration
	timed   bool  // the deadline is set
	failed  error // or cannot be
	attempt func(fd uintptr) bool
}

var timedReads = sync.Pool{New: func() any {
	r := new(timedRead)
	r.attempt = r.read
	return r
}}

// ReadIdleWithin is ReadIdle that waits no longer than d. Only if it has to wait
// it sets the connection's read deadline, and says so: that is later reads' too,
// until it is changed.
func (c *Conn) ReadIdleWithin(d time.Duration) (chunk *Chunk, timed bool, err error) {
	if c.raw == nil {
		if o := c.secure(); o != nil {
			return o.readIdle(d)
		}
		if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
			return nil, false, err
		}
		chunk, err = c.readFirst()
		return chunk, true, err
	}
	r := timedReads.Get().(*timedRead)
	r.conn, r.within = c, d
	err = c.raw.Read(r.attempt)
	if err == nil {
		err = r.failed
	}
	timed = r.timed
	chunk, err = r.outcome(err)
	r.timed, r.failed = false, nil
	timedReads.Put(r)
	return chunk, timed, err
}

func (r *timedRead) read(fd uintptr) (done bool) {
	if r.idleRead.read(fd) {
		return true
	}
	if !r.timed {
		r.failed = r.conn.SetReadDeadline(time.Now().Add(r.within))
		r.timed = r.failed == nil
	}
	return r.failed != nil
}
