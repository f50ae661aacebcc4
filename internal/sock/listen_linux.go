package sock

import (
	"errors"
	"math"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listener accepts by itself what package net has made listen.
type listener struct {
	addr net.Addr
	file *os.File
	raw  syscall.RawConn
	most int // descriptors that may be in use for another connection to be accepted

	mu      sync.Mutex           // held while one accepts; guards what follows
	from    *unix.RawSockaddrAny // where the peer's address goes; nil: nobody asks for it
	room    unix.RawSockaddrAny
	attempt func(fd uintptr) bool
	fd      int
	err     error
	wary    time.Time // until then descriptors may be short; zero: they are not
}

// own takes ln over.
func own(ln net.Listener) (net.Listener, error) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return ln, nil
	}
	defer tcp.Close()
	file, err := tcp.File()
	if err != nil {
		return nil, err
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	l := &listener{addr: tcp.Addr(), file: file, raw: raw, most: math.MaxInt}
	l.attempt = l.accept
	return l, nil
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from = nil
	return l.next()
}

// acceptFrom implements peerTeller, by the same system call.
func (l *listener) acceptFrom() (net.Conn, netip.Addr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.room = unix.RawSockaddrAny{}
	l.from = &l.room
	conn, err := l.next()
	return conn, addressIn(&l.room), err
}

// addressIn is the zero Addr where it is none of the internet's.
func addressIn(room *unix.RawSockaddrAny) netip.Addr {
	switch room.Addr.Family {
	case unix.AF_INET:
		return netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(room)).Addr)
	case unix.AF_INET6:
		return netip.AddrFrom16((*unix.RawSockaddrInet6)(unsafe.Pointer(room)).Addr)
	}
	return netip.Addr{}
}

// next accepts one. The caller holds mu.
func (l *listener) next() (net.Conn, error) {
	l.fd, l.err = -1, nil
	err := l.spared()
	if err == nil {
		err = closing(l.raw, l.raw.Read(l.attempt))
	}
	if err == nil {
		err = l.err
	}
	if err != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: err}
	}
	l.accepted(l.fd)
	return newSocket(l.fd), nil
}

// accept is one attempt; false parks the goroutine until a connection is there.
func (l *listener) accept(fd uintptr) bool {
	size := uint32(unix.SizeofSockaddrAny)
	for {
		n, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, fd, uintptr(unsafe.Pointer(l.from)), uintptr(unsafe.Pointer(&size)),
			unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
			l.fd = int(n)
		case unix.EAGAIN:
			return false
		case unix.EINTR, unix.ECONNABORTED: // this one is gone already
			continue
		default:
			l.err = os.NewSyscallError("accept4", errno)
		}
		return true
	}
}

// Close implements net.Listener.
func (l *listener) Close() error { return opError("close", l.file.Close()) }

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.addr }

// SyscallConn implements syscall.Conn.
func (l *listener) SyscallConn() (syscall.RawConn, error) { return l.file.SyscallConn() }
