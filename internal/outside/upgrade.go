package outside

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// lingerWait bounds how long a refused peer is still read: a connection closed
// with bytes unread is reset, and the reset eats the refusal.
const lingerWait = time.Second

// upgrade is one request of the right shape on its way to becoming a socket, or
// a list of containers. It is passed by value, so that it is part of the closure
// that fasthttp keeps.
type upgrade struct {
	handler   *Handler
	container string
	target    target        // without the borrowed container
	switching *codec.Buffer // the head of the response
}

// switchingSize is about the length of the 101, and of the other head.
const switchingSize = 160

// newUpgrade copies what t and key have borrowed.
func (h *Handler) newUpgrade(t target, key []byte) upgrade {
	u := upgrade{handler: h, container: t.containerID(), target: t, switching: codec.GetBuffer(switchingSize)}
	u.target.container = nil
	if t.list {
		u.switching.B = appendListHead(u.switching.B)
	} else {
		u.switching.B = wsock.AppendSwitching(u.switching.B, key)
	}
	return u
}

// take is fasthttp's hijack handler: the connection is ours from here on. State
// is judged here and not before, because fasthttp skips this call when it lost
// the connection meanwhile, and what was claimed for it would stay claimed.
func (u upgrade) take(hijacked net.Conn) {
	h := u.handler
	// An arrival until it is a member, or gone.
	raw := hijacked.(interface{ UnsafeConn() net.Conn }).UnsafeConn()
	defer h.roster.depart(raw)
	defer h.recovered(panicUpgrade, func() { _ = raw.Close() })
	defer u.switching.Release()

	_, early, err := sock.Early(hijacked)
	conn := sock.Wrap(raw)
	switch {
	case u.target.list:
		h.openFollower(u, conn, err)
	case u.target.requests:
		h.openRequests(u, conn, early, err)
	default:
		h.openAnswer(u, conn, early, err)
	}
}

// turnAway refuses an upgrade for the state of its container (protocol W7, W8),
// and ends the connection.
func (h *Handler) turnAway(u upgrade, conn *sock.Conn, reason Reason) {
	r := refusalFor(reason)
	h.refused(r, conn.RemoteAddr(), []byte(u.container+" "+u.target.label()), nil)
	r.sendAndClose(conn)
}

// turnAwayUnread is fasthttp's hijack handler for a refused request whose body
// is left unread.
func (h *Handler) turnAwayUnread(hijacked net.Conn, reason Reason) {
	raw := hijacked.(interface{ UnsafeConn() net.Conn }).UnsafeConn()
	defer h.roster.depart(raw)
	defer h.recovered(panicUpgrade, func() { _ = raw.Close() })
	refusalFor(reason).sendAndClose(sock.Wrap(raw))
}

// sendAndClose writes the refusal where fasthttp has handed the connection
// over, and ends the connection.
func (r *refusal) sendAndClose(conn *sock.Conn) {
	defer conn.Close()
	response := codec.GetBuffer(512)
	defer response.Release()
	response.B = r.appendRaw(response.B)
	if writeAll(conn, response.B) != nil || conn.CloseWrite() != nil || conn.SetReadDeadline(time.Now().Add(lingerWait)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, conn.Conn)
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

// refused counts and logs a refusal.
func (h *Handler) refused(r *refusal, peer net.Addr, what []byte, cause error) {
	h.observer.Refused(Listener, string(r.reason))
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		h.log.Debug("refused", "listener", Listener, "reason", r.reason, "status", r.status, "peer", peer, "what", oneLine(string(what)), "cause", cause)
	}
}
