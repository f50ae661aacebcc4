package inside

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// What the log tells of each request, it tells at debug: the counters have the
// numbers. It never tells a session's id, nor what is in a message.

// logRefused tells of a refusal; head is nil where there is none.
func (h *Handler) logRefused(r *refusal, cause string, peer net.Conn, head *fasthttp.RequestHeader) {
	ctx := context.Background()
	if !h.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	fields := make([]slog.Attr, 0, 7)
	add := func(key, value string) {
		if value != "" {
			fields = append(fields, slog.String(key, value))
		}
	}
	add("peer", peer.RemoteAddr().String())
	if head != nil {
		add("method", logged(head.Method()))
		add("path", logged(rawPath(head.RequestURI())))
		if r.reason == ReasonRevision {
			add("version", logged(head.Peek(headerRevision)))
		}
	}
	add("reason", string(r.reason))
	fields = append(fields, slog.Int("status", r.status))
	add("cause", cause)
	h.log.LogAttrs(ctx, slog.LevelDebug, "refused", fields...)
}

// logExchange tells of an ask that ended for its client.
func (h *Handler) logExchange(container, kind, outcome string, took time.Duration) {
	ctx := context.Background()
	if !h.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	h.log.LogAttrs(ctx, slog.LevelDebug, "exchange", slog.String("container", container),
		slog.String("kind", kind), slog.String("outcome", outcome), slog.Duration("duration", took))
}

// logged is what a client chose, as a string of a length that a log can take.
func logged(value []byte) string {
	const most = 256
	return strings.ToValidUTF8(string(value[:min(len(value), most)]), "?")
}
