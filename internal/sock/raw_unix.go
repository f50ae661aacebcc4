//go:build unix

package sock

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const rawWays = true

// readSocket reads what is there. No bytes and no error are the peer's end.
func readSocket(fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, err := unix.Read(int(fd), p)
		switch errno, _ := err.(syscall.Errno); {
		case err == nil:
			return n, 0
		case errno != unix.EINTR:
			return 0, errno
		}
	}
}

// writeTry carries a call's arguments into a callback that was made once.
type writeTry struct {
	head, body []byte
	last       bool
	n          int
	err        error
	attempt    func(fd uintptr) bool
}

var writeTries = sync.Pool{New: func() any {
	t := new(writeTry)
	t.attempt = t.write
	return t
}}

func tryWrite(raw syscall.RawConn, head, body []byte, last bool) (int, error) {
	t := writeTries.Get().(*writeTry)
	t.head, t.body, t.last = head, body, last
	err := closing(raw, raw.Write(t.attempt))
	if err == nil {
		err = t.err
	}
	n := t.n
	t.head, t.body, t.n, t.err = nil, nil, 0, nil
	writeTries.Put(t)
	return n, err
}

// write returns true whatever happened: false would park the goroutine.
func (t *writeTry) write(fd uintptr) bool {
	switch {
	case t.body != nil:
		t.n, t.err = attempt(func() (int, error) { return writeBoth(int(fd), t.head, t.body) })
	case t.last:
		t.n, t.err = attempt(func() (int, error) { return writeLast(int(fd), t.head) })
	default:
		t.n, t.err = attempt(func() (int, error) { return unix.Write(int(fd), t.head) })
	}
	return true
}

// tryNow writes what fits, for Direct.
func tryNow(fd int, p []byte) (int, error) {
	return attempt(func() (int, error) { return sendNow(fd, p) })
}

// attempt is one attempt to write: that nothing fits is no failure of it.
func attempt(write func() (int, error)) (int, error) {
	for {
		switch n, err := write(); err {
		case nil:
			return max(n, 0), nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			return 0, os.NewSyscallError("write", err)
		}
	}
}

// departure carries one look at a connection into a callback that was made once.
type departure struct {
	gone    bool
	poll    [1]unix.PollFd
	attempt func(fd uintptr)
}

var departures = sync.Pool{New: func() any {
	d := new(departure)
	d.attempt = d.look
	return d
}}

// departed goes through Control: a parked reader holds the lock that Read takes.
func departed(raw syscall.RawConn) bool {
	d := departures.Get().(*departure)
	err := raw.Control(d.attempt)
	gone := d.gone || err != nil
	d.gone = false
	departures.Put(d)
	return gone
}
