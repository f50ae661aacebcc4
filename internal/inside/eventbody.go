package inside

import (
	"errors"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// eventBody is a response whose body is an event stream with an end. On HTTP/1.1
// its parts are chunks, so that the connection can be used again; before, it ends
// with the connection. The request's goroutine owns it, except for hurry.
type eventBody struct {
	conn    *sock.Conn
	face    *Face // whose streams it is counted among, until its exchange is over
	chunked bool
	last    bool          // the head says that the connection ends
	broken  bool          // a write failed, or the body will lack its end
	stall   time.Duration // for how long the client may take nothing
	attend  func()        // is called ahead of each write, and by one that was hurried; nil once nobody hurries
	out     *codec.Buffer // what has yet to be written; nil mostly
}

const (
	chunkHead = "00000000\r\n" // room for a chunk's length
	chunkEnd  = "\r\n"
	lastChunk = "0\r\n\r\n"
)

// manyEvents is from how many bytes on they are written before there are more.
const manyEvents = 32 << 10

// newEventBody begins the response of x. Its head goes with what comes first.
func newEventBody(x *exchange, stall time.Duration, attend func()) *eventBody {
	head := &x.request.Header
	b := &eventBody{
		conn:    x.client.conn,
		chunked: head.IsHTTP11(),
		last:    head.ConnectionClose() || !head.IsHTTP11() || x.client.handler.stopped(),
		stall:   stall,
		attend:  attend,
	}
	response := &x.response.Header
	response.SetContentType(mediaStream)
	response.Set(fasthttp.HeaderCacheControl, "no-cache, no-transform")
	response.Set("X-Accel-Buffering", "no")
	x.client.handler.share(head, response)
	if b.chunked {
		response.SetContentLength(chunked)
	}
	if b.last {
		response.SetConnectionClose()
	}
	b.out = codec.GetBuffer(0)
	b.out.B = append(b.out.B, response.Header()...)
	return b
}

// message appends a message, which it borrows, as an event, and counts it for what
// that was counted for.
func (b *eventBody) message(m *codec.Buffer) {
	if b.broken {
		return
	}
	start := b.begin(len(m.B) + eventOverhead)
	b.out.B = codec.AppendEvent(b.out.B, m.B)
	b.out.Inherit(m)
	b.finish(start)
}

// events appends what is made up already: events, or a comment.
func (b *eventBody) events(made []byte) {
	if b.broken {
		return
	}
	start := b.begin(len(made))
	b.out.B = append(b.out.B, made...)
	b.finish(start)
}

// begin begins a part of about n bytes.
func (b *eventBody) begin(n int) (start int) {
	if b.out == nil {
		b.out = codec.GetBuffer(n + len(chunkHead) + len(chunkEnd))
	}
	if b.chunked {
		b.out.B = append(b.out.B, chunkHead...)
	}
	return len(b.out.B)
}

func (b *eventBody) finish(start int) {
	if !b.chunked {
		return
	}
	const digits = "0123456789abcdef"
	at := start - len(chunkEnd)
	for n := len(b.out.B) - start; n > 0; n >>= 4 {
		at--
		b.out.B[at] = digits[n&15]
	}
	b.out.B = append(b.out.B, chunkEnd...)
}

// full reports whether it is time for a flush.
func (b *eventBody) full() bool { return b.out != nil && len(b.out.B) >= manyEvents }

// flush writes what has yet to be written. Where that fails, b is broken.
func (b *eventBody) flush() {
	if b.out == nil {
		return
	}
	b.broken = b.broken || b.write(b.out.B) != nil
	b.out.Release()
	b.out = nil
}

// write writes all of p, for as long as the client takes something now and then.
func (b *eventBody) write(p []byte) error {
	for {
		until := time.Now().Add(b.stall)
		if err := b.conn.SetWriteDeadline(until); err != nil {
			return err
		}
		if b.attend != nil {
			b.attend() // to what came before there was a deadline to hurry it by
		}
		n, err := b.conn.Write(p)
		p = p[n:]
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case n == 0 && !time.Now().Before(until):
			return err
		}
	}
}

// hurry interrupts a write for what there is to attend to. It may be called from
// any goroutine.
func (b *eventBody) hurry() {
	_ = b.conn.SetWriteDeadline(longAgo) // where this fails, so does the write
}

// end writes what ends the body, and reports whether another request may follow.
func (b *eventBody) end() (more bool) {
	if b.chunked && !b.broken {
		if b.out == nil {
			b.out = codec.GetBuffer(len(lastChunk))
		}
		b.out.B = append(b.out.B, lastChunk...)
	}
	b.flush()
	return !b.broken && !b.last && b.conn.SetWriteDeadline(time.Time{}) == nil
}
