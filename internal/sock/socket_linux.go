package sock

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is an accepted TCP connection. Package os holds its descriptor, with
// two objects; package net would make six, and two more system calls, to know
// addresses that nobody asks for.
type socket os.File

// newSocket takes over the descriptor of a connection, which does not block.
func newSocket(fd int) *socket { return (*socket)(os.NewFile(uintptr(fd), "tcp")) }

func (s *socket) file() *os.File { return (*os.File)(s) }

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.file().Read(p)
	return n, opError("read", err)
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.file().Write(p)
	return n, opError("write", err)
}

func (s *socket) Close() error                       { return opError("close", s.file().Close()) }
func (s *socket) SetDeadline(t time.Time) error      { return setError(s.file().SetDeadline(t)) }
func (s *socket) SetReadDeadline(t time.Time) error  { return setError(s.file().SetReadDeadline(t)) }
func (s *socket) SetWriteDeadline(t time.Time) error { return setError(s.file().SetWriteDeadline(t)) }

// CloseWrite ends the writing half.
func (s *socket) CloseWrite() error {
	var failed error
	err := s.control(func(fd uintptr) { failed = os.NewSyscallError("shutdown", unix.Shutdown(int(fd), unix.SHUT_WR)) })
	return opError("close", errors.Join(err, failed))
}

// LocalAddr is the zero TCPAddr once s is closed.
func (s *socket) LocalAddr() net.Addr { return s.addr(unix.Getsockname) }

// RemoteAddr is the zero TCPAddr once s is closed, or the peer has reset it.
func (s *socket) RemoteAddr() net.Addr { return s.addr(unix.Getpeername) }

func (s *socket) addr(look func(fd int) (unix.Sockaddr, error)) net.Addr {
	addr := &net.TCPAddr{}
	_ = s.control(func(fd uintptr) {
		switch a, _ := look(int(fd)); a := a.(type) {
		case *unix.SockaddrInet4:
			addr.IP, addr.Port = a.Addr[:], a.Port
		case *unix.SockaddrInet6:
			addr.IP, addr.Port = a.Addr[:], a.Port
			if a.ZoneId != 0 {
				if zone, err := net.InterfaceByIndex(int(a.ZoneId)); err == nil {
					addr.Zone = zone.Name
				}
			}
		}
	})
	return addr
}

// SyscallConn implements syscall.Conn. Unlike the other methods' errors, those
// of what it returns are package os's: see closing.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.file().SyscallConn() }

func (s *socket) control(f func(fd uintptr)) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	return closing(raw, raw.Control(f))
}

// opError turns an error of package os into what package net would have said.
func opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var inner *os.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if errors.Is(err, os.ErrClosed) {
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: "tcp", Err: err}
}

// setError is opError of setting a deadline, which fails with errors that package
// os does not export.
func setError(err error) error {
	if err != nil && !errors.Is(err, os.ErrNoDeadline) {
		err = net.ErrClosed
	}
	return opError("set", err)
}

// rawOfSocket is the RawConn of a socket of ours.
func rawOfSocket(nc net.Conn) (raw syscall.RawConn, ours bool) {
	s, ours := nc.(*socket)
	if !ours {
		return nil, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, true
	}
	return raw, true
}
