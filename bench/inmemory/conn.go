// Package inmemory runs the gateway's rooms on connections that are no sockets, to see what more containers cost than there
// are descriptors for.
package inmemory

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// conn is the gateway's end of a connection; the far end works on it directly. It holds nothing while it is quiet.
type conn struct {
	mu      sync.Mutex
	changed sync.Cond // to who reads, on either side
	in, out []byte    // unread, by the gateway and by the far end
	expired bool      // the read deadline has passed
	closed  bool
}

func newConn() *conn {
	c := new(conn)
	c.changed.L = &c.mu
	return c
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case len(c.in) > 0:
			n := copy(p, c.in)
			if c.in = c.in[n:]; len(c.in) == 0 {
				c.in = nil
			}
			return n, nil
		case c.closed:
			return 0, io.EOF
		case c.expired:
			return 0, os.ErrDeadlineExceeded
		}
		c.changed.Wait()
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	c.out = append(c.out, p...)
	c.changed.Broadcast()
	return len(p), nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return nil
}

// SetReadDeadline implements net.Conn, for deadlines that have passed or are not met.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expired = !t.IsZero() && !t.After(time.Now())
	c.changed.Broadcast()
	return nil
}

// SetWriteDeadline and SetDeadline implement net.Conn; writes do not wait.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
func (c *conn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }

// address is that of both ends.
var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}

// LocalAddr and RemoteAddr implement net.Conn.
func (c *conn) LocalAddr() net.Addr  { return address }
func (c *conn) RemoteAddr() net.Addr { return address }

// send is the far end's write.
func (c *conn) send(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = append(c.in, p...)
	c.changed.Broadcast()
}

// receive waits until done says that what has arrived is whole, and hands it to use.
func (c *conn) receive(done func([]byte) bool, use func([]byte)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !done(c.out) {
		if c.closed {
			return io.ErrUnexpectedEOF
		}
		c.changed.Wait()
	}
	if use != nil {
		use(c.out)
	}
	c.out = nil
	return nil
}

// listener hands out connections.
type listener struct {
	conns  chan *conn
	closed chan struct{}
	once   sync.Once
}

func newListener() *listener { return &listener{conns: make(chan *conn), closed: make(chan struct{})} }

func (l *listener) dial() *conn {
	c := newConn()
	l.conns <- c
	return c
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address }
