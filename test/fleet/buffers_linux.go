package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Buffers of a reader that stalls: as small as can be, on both ends, since the gateway's grows with the size of segments.
const (
	stallBuffer  = 4 << 10
	stallSegment = 536
)

// takesLittle has a socket that is not read be full soon.
func takesLittle(fd uintptr) error {
	return errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, stallBuffer),
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, stallSegment))
}
