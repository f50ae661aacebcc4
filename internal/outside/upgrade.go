package outside

import (
	"time"

	"github.com/diverge-network/gateway/internal/sock"
)

// switchingSize is about the length of the 101, and of the list's head.
const switchingSize = 160

// become makes of the connection what a request of the right shape has asked
// for, or refuses that for the state of its container. t and key are borrowed
// from the request's head. The answer path that it returns is to be served.
func (a *arrival) become(t target, key []byte) (opened *answer) {
	defer a.handler.recovered(panicUpgrade, a.cut)
	if a.untimed() != nil {
		a.cut()
		return nil
	}
	switch {
	case t.list:
		a.openFollower()
	case t.requests:
		a.openRequests(t, key)
	default:
		return a.openAnswer(t, key)
	}
	return nil
}

// writeAll writes p, which is short, and waits only for a peer that has left
// earlier responses unread.
func writeAll(conn *sock.Conn, p []byte) error {
	n, err := conn.TryWrite(p)
	if err != nil || n == len(p) {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(p[n:]); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}
