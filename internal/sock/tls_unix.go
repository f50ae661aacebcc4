//go:build unix

package sock

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// roomLook carries one look for room into a callback that was made once.
type roomLook struct {
	room    bool
	poll    [1]unix.PollFd
	attempt func(fd uintptr) bool
}

var roomLooks = sync.Pool{New: func() any {
	l := new(roomLook)
	l.attempt = l.look
	return l
}}

// writable reports whether a socket would take something, or would fail to, as
// after a deadline that has passed.
func writable(raw syscall.RawConn) (bool, error) {
	l := roomLooks.Get().(*roomLook)
	err := closing(raw, raw.Write(l.attempt))
	room := l.room
	l.room = false
	roomLooks.Put(l)
	return room, err
}

// look returns true whatever it saw: false would park the goroutine.
func (l *roomLook) look(fd uintptr) bool {
	for {
		l.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT}
		n, err := unix.Poll(l.poll[:], 0)
		if err == unix.EINTR {
			continue
		}
		l.room = err != nil || n > 0
		return true
	}
}
