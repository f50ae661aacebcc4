//go:build unix && !linux

package sock

import "golang.org/x/sys/unix"

// look polls for a connection that has ended both ways. One that the peer has
// half closed is seen by peeking, where no unread bytes are in front.
func (d *departure) look(fd uintptr) {
	for {
		d.poll[0] = unix.PollFd{Fd: int32(fd)}
		n, err := unix.Poll(d.poll[:], 0)
		if err == unix.EINTR {
			continue
		}
		if d.gone = err != nil || n > 0; !d.gone {
			var b [1]byte
			n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			d.gone = err == nil && n == 0
		}
		return
	}
}
