package sock

import (
	"net"
	"sync"
	"time"
)

// Direct is a Conn that much is written to: its TryWrite goes straight to the
// descriptor. What lies in between otherwise, half a dozen objects that are seldom
// in the processor's caches where connections are many, was a twentieth of what a
// write to one of a thousand sockets costs. Its methods may be called as Conn's.
type Direct struct {
	conn *Conn // closed by Close alone, lest fd become another's

	mu sync.Mutex // guards fd; held over a write that does not wait
	fd int        // closedOrNone where there is no way past conn
}

const closedOrNone = -1

// mostDirect is the most that is written so: copying more takes a while, for which
// the scheduler had better know.
const mostDirect = 64 << 10

// Init takes over c, which from then on is closed by Close alone. It is called
// once, before anything else.
func (d *Direct) Init(c *Conn) {
	d.conn, d.fd = c, closedOrNone
	if c.raw != nil {
		_ = c.raw.Control(func(fd uintptr) { d.fd = int(fd) }) // fails where c is closed
	}
}

// Close closes the connection.
func (d *Direct) Close() error {
	d.mu.Lock()
	d.fd = closedOrNone
	d.mu.Unlock()
	return d.conn.Close()
}

// TryWrite is Conn.TryWrite, but that it need not heed deadlines.
func (d *Direct) TryWrite(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd == closedOrNone || len(p) > mostDirect {
		return d.conn.TryWrite(p)
	}
	return tryNow(d.fd, p)
}

func (d *Direct) TryWrite2(head, body []byte) (int, error) { return d.conn.TryWrite2(head, body) }
func (d *Direct) Write(p []byte) (int, error)              { return d.conn.Write(p) }
func (d *Direct) ReadIdle() (*Chunk, error)                { return d.conn.ReadIdle() }
func (d *Direct) SetReadDeadline(t time.Time) error        { return d.conn.SetReadDeadline(t) }
func (d *Direct) SetWriteDeadline(t time.Time) error       { return d.conn.SetWriteDeadline(t) }
func (d *Direct) RemoteAddr() net.Addr                     { return d.conn.RemoteAddr() }
