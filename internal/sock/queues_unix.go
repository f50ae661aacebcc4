//go:build unix && !linux

package sock

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unread peeks: that needs no constant that systems disagree on.
func unread(raw syscall.RawConn) bool {
	nothing := false
	err := raw.Control(func(fd uintptr) {
		var b [1]byte
		for {
			n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if err == unix.EINTR {
				continue
			}
			nothing = err == unix.EAGAIN || err == nil && n == 0
			return
		}
	})
	return err != nil || !nothing
}

func unacknowledged(syscall.RawConn) (n int, known bool) { return 0, false }
