//go:build linux

package wire

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Peer is a connected, blocking descriptor. Every wait of it ends after 20 s.
type Peer int

// patience is how long a Peer waits for the other side, in seconds.
const patience = 20

// Dial connects to a TCP address, ip:port.
func Dial(addr string) (Peer, error) { return dial(addr, 0) }

// DialSmall is Dial with as little room as there can be for what arrives and is not read.
func DialSmall(addr string) (Peer, error) { return dial(addr, 1) }

func dial(addr string, room int) (Peer, error) {
	to, err := Address(addr)
	if err != nil {
		return -1, err
	}
	fd, err := connect(to, room)
	if err != nil {
		return -1, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	// Two small writes in a row must not wait for an acknowledgement.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &unix.Timeval{Sec: patience}); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
	}
	return Peer(fd), nil
}

// Address is an ip:port as connect takes it.
func Address(addr string) (*unix.SockaddrInet4, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	if !to.Addr().Is4() {
		return nil, fmt.Errorf("%s is no IPv4 address", addr)
	}
	return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}, nil
}

// connect connects; room bounds what may be unread, and is the system's where it is 0.
func connect(to *unix.SockaddrInet4, room int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if room > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, room); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
	}
	for {
		err := unix.Connect(fd, to)
		if err == nil || errors.Is(err, unix.EISCONN) {
			return fd, nil
		}
		if !errors.Is(err, unix.EINTR) {
			_ = unix.Close(fd)
			return -1, err
		}
	}
}

// Send writes all of b.
func (p Peer) Send(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(int(p), b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		b = b[n:]
	}
	return nil
}

// Receive reads into buf until done says that what has arrived is whole, and returns it.
func (p Peer) Receive(buf []byte, done func([]byte) bool) ([]byte, error) {
	n := 0
	for !done(buf[:n]) {
		if n == len(buf) {
			return nil, fmt.Errorf("more than %d bytes arrived: %.200q", len(buf), buf)
		}
		r, err := p.Read(buf[n:])
		if err != nil {
			return nil, fmt.Errorf("read: %w, so far %.200q", err, buf[:n])
		}
		if r == 0 {
			return nil, fmt.Errorf("the connection was closed, so far %.200q", buf[:n])
		}
		n += r
	}
	return buf[:n], nil
}

// Ask sends a request and receives what answers it.
func (p Peer) Ask(request, buf []byte, done func([]byte) bool) ([]byte, error) {
	if err := p.Send(request); err != nil {
		return nil, err
	}
	return p.Receive(buf, done)
}

// Read is one read of whatever is there; 0 and no error is the end.
func (p Peer) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(p), b)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// Second is a second descriptor of the same connection.
func (p Peer) Second() (Peer, error) {
	fd, err := unix.FcntlInt(uintptr(p), unix.F_DUPFD_CLOEXEC, 0)
	return Peer(fd), err
}

// Close closes the descriptor.
func (p Peer) Close() { _ = unix.Close(int(p)) }
