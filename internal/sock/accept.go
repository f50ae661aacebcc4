package sock

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

const (
	// Pauses between attempts to accept while descriptors or memory are short.
	shortestPause = 5 * time.Millisecond
	longestPause  = 100 * time.Millisecond

	// relief is how long nothing may have been short for a shortage to be over, and
	// the next one to be news.
	relief = time.Minute
)

// Accept hands each connection of ln to take, one after the other, until
// stopping is closed; whoever closes it closes ln too. It returns nil then. An
// accept that fails for want of file descriptors or memory is tried again, and
// logged once in a shortage, however often a descriptor comes free in it; any
// other failure of the listener is returned.
func Accept(ln net.Listener, stopping <-chan struct{}, log *slog.Logger, take func(net.Conn)) error {
	var pause time.Duration
	var short time.Time // when something was short last
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
			last := short
			if short = time.Now(); short.Sub(last) > relief {
				log.Error("connections cannot be accepted for now: raise the limit of open files, or run more gateways",
					"error", err)
			}
			pause = min(max(2*pause, shortestPause), longestPause)
			rest(pause, stopping)
		}
	}
}

// peerTeller is a listener that knows who has connected without asking for it.
type peerTeller interface {
	acceptFrom() (net.Conn, netip.Addr, error)
}

// AcceptFrom accepts one connection of ln, and says what its peer's address is: the
// zero Addr where that is none of the internet's, or cannot be known any more. It
// costs nothing more than Accept where ln is Listen's, on Linux.
func AcceptFrom(ln net.Listener) (net.Conn, netip.Addr, error) {
	if ln, ours := ln.(peerTeller); ours {
		return ln.acceptFrom()
	}
	conn, err := ln.Accept()
	if err != nil {
		return nil, netip.Addr{}, err
	}
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return conn, netip.Addr{}, nil
	}
	from, _ := netip.AddrFromSlice(tcp.IP)
	return conn, from, nil
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
