package sock

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// peekSocket goes below unix.Recvfrom, which allocates an address per call.
func peekSocket(fd uintptr, b *[1]byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(b)), 1,
		unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
