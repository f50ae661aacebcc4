package sock

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// queueLook carries one look at a queue of a socket into a callback that was
// made once.
type queueLook struct {
	request uint
	length  int
	err     error
	attempt func(fd uintptr)
}

var queueLooks = sync.Pool{New: func() any {
	q := new(queueLook)
	q.attempt = q.look
	return q
}}

func (q *queueLook) look(fd uintptr) { q.length, q.err = unix.IoctlGetInt(int(fd), q.request) }

// queueLength goes through Control: a parked reader holds the lock that Read takes.
func queueLength(raw syscall.RawConn, request uint) (int, error) {
	q := queueLooks.Get().(*queueLook)
	q.request = request
	err := raw.Control(q.attempt)
	if err == nil {
		err = q.err
	}
	n := q.length
	q.length, q.err = 0, nil
	queueLooks.Put(q)
	return n, err
}

func unread(raw syscall.RawConn) bool {
	n, err := queueLength(raw, unix.SIOCINQ)
	return err != nil || n > 0
}

func unacknowledged(raw syscall.RawConn) (n int, known bool) {
	n, err := queueLength(raw, unix.SIOCOUTQ)
	return n, err == nil
}
