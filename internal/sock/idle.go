package sock

import (
	"io"
	"sync/atomic"
	"syscall"
)

// idleRead is the state of one ReadIdle. attempt is made once per connection, so
// that a read allocates nothing.
type idleRead struct {
	attempt func(fd uintptr) bool
	chunk   *Chunk
	err     error
	first   [1]byte // the slow way's

	// waits says that the newest attempt found nothing to read; Drained reads it
	// from other goroutines.
	waits atomic.Bool
}

// ReadIdle waits until the peer has sent something and returns it in a chunk
// that the caller Releases. While it waits no buffer is held. It ends with
// io.EOF when the peer ended its half, and with Read's errors otherwise (a read
// deadline, a reset, net.ErrClosed); the chunk is nil then. It returns at least
// one byte; on connections without the fast way, exactly one, and the rest is
// for Read.
func (c *Conn) ReadIdle() (*Chunk, error) {
	if c.raw == nil {
		return c.readFirst()
	}
	err := c.raw.Read(c.idle.attempt)
	chunk := c.idle.chunk
	if err == nil {
		err = c.idle.err
	}
	c.idle.chunk, c.idle.err = nil, nil
	if err != nil {
		c.idle.waits.Store(false)
		return nil, err
	}
	return chunk, nil
}

// read is one attempt; false parks the goroutine until the socket is readable.
func (r *idleRead) read(fd uintptr) bool {
	r.waits.Store(false)
	chunk := TakeChunk()
	n, err := readSocket(fd, chunk.room[:])
	switch {
	case n > 0:
		chunk.B = chunk.room[:n]
		r.chunk = chunk
		return true
	case err == syscall.EAGAIN:
		chunk.Release()
		r.waits.Store(true)
		return false
	case err != nil:
		r.err = err
	default:
		r.err = io.EOF
	}
	chunk.Release()
	return true
}

// readFirst waits with a buffer of one byte: a TLS connection then has the rest
// of the record at hand.
func (c *Conn) readFirst() (*Chunk, error) {
	for {
		n, err := c.Conn.Read(c.idle.first[:])
		if n > 0 {
			chunk := TakeChunk()
			chunk.B = append(chunk.B, c.idle.first[0])
			return chunk, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
