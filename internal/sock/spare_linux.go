package sock

import (
	"math"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// vigilance is how long after a shortage of descriptors each accept is preceded by
// a look, which takes two system calls. The first of a shortage has none.
const vigilance = time.Hour

// Spare has ln leave one in share of the descriptors that the process may have to
// others: while fewer are free it accepts no connection, but for the one that
// finds that out, and what comes waits in the backlog. Accept returns a temporary
// error then. It must come before the first Accept, and does nothing to a listener
// that is not Listen's, nor on systems other than Linux.
func Spare(ln net.Listener, share int) {
	var limit unix.Rlimit
	l, ours := ln.(*listener)
	if !ours || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > math.MaxInt32 {
		return
	}
	l.most = int(limit.Cur) - int(limit.Cur)/share
}

// scarcity is the error of a listener that spares descriptors.
type scarcity struct{}

func (scarcity) Error() string   { return "the open files that are left are spared for other listeners" }
func (scarcity) Temporary() bool { return true }

// spared is a scarcity while no more than the spared descriptors are free. The
// system gives out the lowest that is free, so that its number says whether most
// are in use.
func (l *listener) spared() error {
	if l.wary.IsZero() {
		return nil
	}
	lowest := math.MaxInt
	err := closing(l.raw, l.raw.Control(func(fd uintptr) {
		if free, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			_ = unix.Close(free)
			lowest = free
		}
	}))
	switch now := time.Now(); {
	case err != nil:
		return err
	case lowest >= l.most:
		l.wary = now.Add(vigilance)
		return scarcity{}
	case now.After(l.wary):
		l.wary = time.Time{}
	}
	return nil
}

// accepted looks at the descriptor that a connection got.
func (l *listener) accepted(fd int) {
	if fd >= l.most {
		l.wary = time.Now().Add(vigilance)
	}
}
