package inside

import (
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

// events is one event stream: the connection of a GET, which is its session's, or
// of a subscriptions/listen, which belongs to none. It is the stream.Conn of its
// own stream. Its one goroutine only reads, and so sees the client leave.
type events struct {
	// Set before the stream opens.
	handler      *Handler
	container    *mux.Container // entered
	face         *Face
	session      sessionID     // of a GET
	subscription *subscription // of a subscriptions/listen; nil for a GET
	conn         sock.Direct

	// identity is who opened it. Once it is open, of who judges it again.
	identity auth.Identity

	// stream is set under Face.opening.
	stream *stream.Stream

	// head is what of the response's head has yet to be written, ahead of
	// whatever comes first. Owned by who writes; the stream lets one at a time.
	head []byte
	// flushing says that a write waits for the connection.
	flushing atomic.Bool

	beat       keepalive.Entry
	prev, next *events // in the roster
}

// tableKey is under what its Face knows it.
func (e *events) tableKey() sessionID { return e.session }

// Comments of an event stream. They have a colon and an empty line like any
// event: some clients end the connection otherwise.
var (
	openComment      = stream.Message{Bytes: []byte(": open\n\n"), Keep: true}
	keepAliveComment = stream.Message{Bytes: []byte(": keepalive\n\n")}
)

// appendStreamHead appends the head of a response whose body is an event stream
// without an end: it ends with the connection.
func appendStreamHead(dst, sharing []byte) []byte {
	dst = append(dst, "HTTP/1.1 200 OK\r\nDate: "...)
	dst = fasthttp.AppendHTTPDate(dst, time.Now())
	dst = append(dst, "\r\nContent-Type: "+mediaStream+
		"\r\nCache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\nConnection: close\r\n"...)
	return append(append(dst, sharing...), "\r\n"...)
}

// listening is what a connection needs to become an event stream.
type listening struct {
	container    *mux.Container // entered
	session      session        // whose the stream is, or else
	subscription *subscription  // what it was opened for
	identity     auth.Identity  // who asked for it
	sharing      []byte         // lines of the response's head, see appendSharing
}

// listen serves a GET: the connection becomes the session's event stream. It
// works from initialize on. A Last-Event-ID is ignored: nothing is replayed
// (protocol N5).
func (h *Handler) listen(x *exchange, container string) {
	c, s, ok := h.admit(x, container)
	if !ok {
		return
	}
	x.listens = &listening{container: c, session: s, identity: x.identity, sharing: h.appendSharing(nil, &x.request.Header)}
}

// stream opens the event stream on a connection that was handed over, which it
// owns from here on, and exits the container when it ends.
func (h *Handler) stream(conn *sock.Conn, l *listening) {
	e := &events{handler: h, container: l.container, face: l.container.Sink().(*Face), session: l.session.id,
		subscription: l.subscription, identity: l.identity}
	e.conn.Init(conn)
	h.running.Add(1) // the caller counts as well, until it returns
	reading := false
	defer func() {
		if !reading {
			_ = e.conn.Close()
			l.container.Exit()
			h.running.Done()
		}
	}()
	defer h.guardStream(&e.conn)
	e.head, e.beat.Beater = appendStreamHead(nil, l.sharing), e
	if err := e.conn.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	if e.subscription != nil {
		e.face.subscribe(e)
	} else if !e.face.open(e) {
		h.refuseStream(conn)
		return
	}
	reading = true
	// A fresh stack: this one has grown, and would stay so.
	go e.read()
}

// refuseStream ends a connection whose session was ended while it was handed over.
func (h *Handler) refuseStream(conn *sock.Conn) {
	gone := refusalFor(ReasonUnknownSession)
	h.observer.Refused(Listener, string(gone.reason))
	h.logRefused(gone, "", conn, nil)
	var r fasthttp.Response
	r.SetStatusCode(gone.status)
	r.Header.SetContentType(mediaJSON)
	r.SetConnectionClose()
	r.SetBody(gone.body(detail{}))
	if err := conn.SetWriteDeadline(time.Now().Add(farewellTime)); err == nil {
		// Whether it arrives or not, the connection ends.
		_, _ = r.WriteTo(conn)
	}
}

// read is the stream's goroutine. It waits without a buffer until the client
// leaves or the stream is closed; what the client sends is not looked at.
func (e *events) read() {
	defer e.handler.running.Done()
	defer e.container.Exit()
	defer e.handler.guardStream(&e.conn)
	defer e.handler.roster.leave(e)
	defer e.face.closed(e)
	defer e.handler.ring.Remove(&e.beat)
	defer e.stream.Close(stream.CloseLeft)
	for {
		chunk, err := e.conn.ReadIdle()
		if err != nil {
			return
		}
		chunk.Release()
	}
}

// guardStream keeps a panic on an event stream from ending more than the stream.
func (h *Handler) guardStream(conn *sock.Direct) {
	if value := recover(); value != nil {
		h.panicked(PanicStream, value, debug.Stack())
		_ = conn.Close()
	}
}

// Beat implements keepalive.Beater. While something waits to be written, the
// stream is not quiet.
func (e *events) Beat(time.Time) {
	if !e.flushing.Load() {
		e.stream.Send(keepAliveComment)
	}
}

// TryWrite implements stream.Conn.
func (e *events) TryWrite(p []byte) (int, error) {
	if len(e.head) == 0 {
		return e.conn.TryWrite(p)
	}
	n, err := e.conn.TryWrite2(e.head, p)
	ofHead := min(n, len(e.head))
	e.headWritten(ofHead)
	return n - ofHead, err
}

// Write implements stream.Conn.
func (e *events) Write(p []byte) (int, error) {
	e.flushing.Store(true)
	defer e.flushing.Store(false)
	if len(e.head) > 0 {
		n, err := e.conn.Write(e.head)
		e.headWritten(n)
		if err != nil {
			return 0, err
		}
	}
	return e.conn.Write(p)
}

func (e *events) headWritten(n int) {
	if e.head = e.head[n:]; len(e.head) == 0 {
		e.head = nil
	}
}

// SetWriteDeadline implements stream.Conn.
func (e *events) SetWriteDeadline(t time.Time) error { return e.conn.SetWriteDeadline(t) }

// Close implements stream.Conn.
func (e *events) Close() error { return e.conn.Close() }
