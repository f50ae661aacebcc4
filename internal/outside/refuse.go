package outside

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// lingerWait bounds how long a refused peer is still read: a connection closed
// with bytes unread is reset, and the reset eats the refusal.
const lingerWait = time.Second

// refuse answers the request (protocol W7), and reports whether another may
// follow. If none may, the connection is over.
func (a *arrival) refuse(reason Reason, cause error) (more bool) {
	r := refusalFor(reason)
	a.handler.refused(r, a, cause)
	unread := r.last || hasBody(&a.header)
	last := unread || a.header.ConnectionClose() || a.handler.stopped()
	if a.respond(r, cause, last) == nil {
		if !last {
			return true
		}
		if unread || a.in.Buffered() > 0 {
			linger(&a.conn)
		}
	}
	a.cut()
	return false
}

// respond writes the refusal.
func (a *arrival) respond(r *refusal, cause error, last bool) error {
	connection := ""
	switch {
	case last:
		connection = "close"
	case !a.header.IsHTTP11():
		connection = "keep-alive"
	}
	response := codec.GetBuffer(512)
	defer response.Release()
	response.B = r.appendResponse(response.B, cause, connection, !a.header.IsHead())
	return writeAll(&a.conn, response.B)
}

// linger ends our half, and reads what the peer is still sending until it ends
// its own, or for a while.
func linger(conn *sock.Conn) {
	if conn.CloseWrite() == nil && conn.SetReadDeadline(time.Now().Add(lingerWait)) == nil {
		_, _ = io.Copy(io.Discard, conn.Conn)
	}
}

// refused counts and logs a refusal.
func (h *Handler) refused(r *refusal, a *arrival, cause error) {
	h.observer.Refused(Listener, string(r.reason))
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		attrs := []any{"listener", Listener, "reason", r.reason, "status", r.status, "peer", a.conn.RemoteAddr()}
		if a.parsed {
			attrs = append(attrs, "what", oneLine(string(rawPath(a.header.RequestURI()))))
		}
		if cause != nil {
			attrs = append(attrs, "cause", cause)
		}
		h.log.Debug("refused", attrs...)
	}
}
