//go:build linux

package wire

import (
	"encoding/binary"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The loop's descriptors block, so that connect does; its reads and writes never do.

func send(fd int, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func recv(fd int, b []byte) (int, error) { return recvFlags(fd, b, unix.MSG_DONTWAIT) }
func peek(fd int, b []byte) (int, error) { return recvFlags(fd, b, unix.MSG_DONTWAIT|unix.MSG_PEEK) }

func recvFlags(fd int, b []byte, flags uintptr) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Stamped has the kernel say when it received what arrives: see Far.At.
func (f *Far) Stamped() error {
	f.stamped = true
	return unix.SetsockoptInt(f.FD, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// Now is the clock that the kernel stamps with, in nanoseconds.
func Now() int64 { return time.Now().UnixNano() }

// recvStamped is recv, and when the kernel received the last byte.
func recvStamped(fd int, b []byte) (n int, at int64, err error) {
	var control [64]byte
	vector := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	header := unix.Msghdr{Iov: &vector, Iovlen: 1, Control: &control[0], Controllen: uint64(len(control))}
	r, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&header)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0, 0, errno
	}
	if header.Controllen >= uint64(unix.SizeofCmsghdr+16) {
		at = int64(binary.NativeEndian.Uint64(control[unix.SizeofCmsghdr:]))*1e9 +
			int64(binary.NativeEndian.Uint64(control[unix.SizeofCmsghdr+8:]))
	}
	return int(r), at, nil
}
