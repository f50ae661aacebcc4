//go:build unix && !linux

package sock

import "golang.org/x/sys/unix"

func peekSocket(fd uintptr, b *[1]byte) (int, error) {
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n, err
}
