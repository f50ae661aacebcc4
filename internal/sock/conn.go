package sock

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a net.Conn with the facilities of this package. Its methods may be
// called from any goroutine, with one writer (Write, TryWrite, TryWrite2) and
// one reader (Read, ReadIdle) at a time; Departed, Drained,
// Unacknowledged, Close and the setters may run beside both.
type Conn struct {
	net.Conn
	raw syscall.RawConn // nil: only the slow ways

	// waits says that the newest attempt of ReadIdle found nothing to read;
	// Drained reads it from other goroutines.
	waits atomic.Bool
	first [1]byte // the slow way's
	errno int16   // of a ReadIdle that failed, or peerEnded
}

// Wrap returns nc with the facilities of this package. The Conn owns nc.
func Wrap(nc net.Conn) *Conn {
	if c, ok := nc.(*Conn); ok {
		return c
	}
	c := new(Conn)
	c.Init(nc)
	return c
}

// Init makes c, which is part of something and was not used before, what Wrap
// returns. If nc is a *Conn, that one must not be used any more.
func (c *Conn) Init(nc net.Conn) {
	if from, ok := nc.(*Conn); ok {
		c.Conn, c.raw = from.Conn, from.raw
		return
	}
	c.Conn, c.raw = nc, rawOf(nc)
}

// rawOf asks for exact types: a wrapper that embeds a TCP connection has its
// SyscallConn too, and would be bypassed.
func rawOf(nc net.Conn) syscall.RawConn {
	if !rawWays {
		return nil
	}
	if raw, ours := rawOfSocket(nc); ours {
		return raw
	}
	var raw syscall.RawConn
	var err error
	switch nc := nc.(type) {
	case *net.TCPConn:
		raw, err = nc.SyscallConn()
	case *net.UnixConn:
		raw, err = nc.SyscallConn()
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	return raw
}

// transport is the socket that carries c, also where c speaks TLS over it; nil
// where there is none to be seen.
func (c *Conn) transport() syscall.RawConn {
	if c.raw != nil {
		return c.raw
	}
	if o := c.secure(); o != nil {
		return o.wire.raw
	}
	if over, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		return rawOf(over.NetConn())
	}
	return nil
}

// CloseWrite ends the writing half; the peer reads to its end, and we can still
// read. It is errors.ErrUnsupported where the connection has no halves.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// SetUserTimeout bounds how long sent bytes may stay unacknowledged, or the
// peer's window shut, before the kernel ends the connection (TCP_USER_TIMEOUT).
// Zero restores the kernel's default; anything else is rounded up to a
// millisecond. It is errors.ErrUnsupported where the connection is not carried
// by TCP, or the system has no such option.
func (c *Conn) SetUserTimeout(d time.Duration) error {
	raw := c.transport()
	if raw == nil {
		return errors.ErrUnsupported
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = setUserTimeout(fd, d) }); err != nil {
		return closing(raw, err)
	}
	return failed
}

// Departed reports, without waiting and without reading anything, that the peer
// has ended its half or reset the connection, or that we closed ours. Unread
// bytes do not hide it on Linux, where a peer that lets more than 64 KiB of them
// pile up counts as departed, because its end would not get through to be seen;
// elsewhere they may hide an ended half. The end of TLS alone, without that of its
// connection, is seen once it was read. It is false where there is no socket to
// look at.
func (c *Conn) Departed() bool {
	if o := c.secure(); o != nil && o.gone.Load() {
		return true
	}
	raw := c.transport()
	if raw == nil {
		return false
	}
	return departed(raw)
}

// IsSocket reports whether the connection has this package's ways, as a socket and
// TLS by ServeTLS over one have: whether TryWrite can write, and ReadIdle waits
// without a buffer.
func (c *Conn) IsSocket() bool { return c.raw != nil || c.secure() != nil }
