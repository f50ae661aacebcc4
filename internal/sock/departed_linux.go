package sock

import "golang.org/x/sys/unix"

// look asks for the state of the connection, which unread bytes do not hide:
// a peer that sends something more and leaves would not be noticed by reading.
func (d *departure) look(fd uintptr) {
	for {
		d.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
		n, err := unix.Poll(d.poll[:], 0)
		if err == unix.EINTR {
			continue
		}
		d.gone = err != nil || n > 0
		return
	}
}
