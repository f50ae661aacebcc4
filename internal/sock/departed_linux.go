package sock

import "golang.org/x/sys/unix"

// maxUnread is how many bytes may be unread of a peer that is still there.
const maxUnread = 64 << 10

// look asks for the state of the connection, which unread bytes do not hide:
// a peer that sends something more and leaves would not be noticed by reading.
func (d *departure) look(fd uintptr) {
	for {
		d.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
		n, err := unix.Poll(d.poll[:], 0)
		if err == unix.EINTR {
			continue
		}
		if d.gone = err != nil || n > 0; !d.gone {
			// An end that follows more than the kernel takes is not seen by it either.
			unread, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
			d.gone = err == nil && unread > maxUnread
		}
		return
	}
}
