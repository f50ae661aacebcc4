package sock

import (
	"errors"
	"log/slog"
	"net"
	"time"
)

// Pauses between attempts to accept while descriptors or memory are short.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// Accept hands each connection of ln to take, one after the other, until
// stopping is closed; whoever closes it closes ln too. It returns nil then. An
// accept that fails for want of file descriptors or memory is logged once and
// tried again; any other failure of the listener is returned.
func Accept(ln net.Listener, stopping <-chan struct{}, log *slog.Logger, take func(net.Conn)) error {
	var pause time.Duration
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			take(conn)
		case closed(stopping):
			return nil
		case !passing(err):
			return err
		default:
			if pause == 0 {
				log.Error("connections cannot be accepted for now: raise the limit of open files, or run more gateways",
					"error", err)
			}
			pause = min(max(2*pause, shortestPause), longestPause)
			rest(pause, stopping)
		}
	}
}

func closed(stopping <-chan struct{}) bool {
	select {
	case <-stopping:
		return true
	default:
		return false
	}
}

// rest returns after d, or when stopping is closed.
func rest(d time.Duration, stopping <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stopping:
	}
}

// passing tells an accept that may succeed later from a listener that is gone.
// Temporary is deprecated for want of a definition, but for accept it has one:
// the errors that concern one connection, or a lack of descriptors.
func passing(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}
