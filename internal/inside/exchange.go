package inside

import (
	"bufio"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/pkg/codec"
)

// exchange is one request and its response. The connection's goroutine owns it.
type exchange struct {
	client   *connection
	request  fasthttp.Request
	response fasthttp.Response
	posting  posting       // of a POST; what it borrows is in request and body
	identity auth.Identity // whose request it is, where tokens are asked for

	parsed bool          // request has its head
	read   bool          // and nothing of its body is still to come
	body   *codec.Buffer // that was read, or nil
	full   *limit.Full   // why it was not read to its end, or nil
	out    *codec.Buffer // what the response's body is a view of, or nil

	events  *eventBody // the response, where its head was sent already
	spoilt  bool       // what arrives next is no request: the connection ends
	listens *listening // the connection becomes an event stream, and there is no response
	left    *reply     // the response will come by itself: see leave
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func takeExchange(c *connection) *exchange {
	x := exchanges.Get().(*exchange)
	x.client = c
	x.reset()
	return x
}

func (x *exchange) release() {
	x.reset()
	x.request.Reset()
	if x.body != nil {
		x.body.Release()
	}
	if x.events != nil && x.events.face != nil {
		x.events.face.leaveStream()
	}
	x.client, x.body, x.listens, x.events, x.left, x.full = nil, nil, nil, nil, nil, nil
	x.posting, x.identity = posting{}, auth.Identity{}
	x.parsed, x.read, x.spoilt = false, false, false
	exchanges.Put(x)
}

// head is the request's, or nil if it could not be read.
func (x *exchange) head() *fasthttp.RequestHeader {
	if !x.parsed {
		return nil
	}
	return &x.request.Header
}

// reset makes the response an empty one.
func (x *exchange) reset() {
	x.response.Reset()
	if x.out != nil {
		x.out.Release()
		x.out = nil
	}
}

// answer makes out, which it takes over, the response's body.
func (x *exchange) answer(media string, out *codec.Buffer) {
	x.out = out
	x.response.Header.SetContentType(media)
	x.response.SetBodyRaw(out.B)
}

var writers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// finish sends the response, and reports whether another request may follow.
func (x *exchange) finish() (more bool) {
	if x.events != nil {
		return x.finishEvents()
	}
	c, head := x.client, &x.request.Header
	length := head.ContentLength()
	unread := !x.read && length != 0 && length != noBody
	short := length >= 0 && length <= smallBody && !x.request.MayContinue()
	last := x.spoilt || unread && !short || head.ConnectionClose() || c.handler.leaving()
	if last {
		x.response.SetConnectionClose()
	} else if !head.IsHTTP11() {
		x.response.Header.Set(fasthttp.HeaderConnection, "keep-alive")
	}
	if x.parsed {
		c.handler.share(head, &x.response.Header)
	}
	x.response.SkipBody = head.IsHead()
	if x.write() != nil {
		return false
	}
	switch {
	case !last:
		return !unread || x.discard(length)
	case x.spoilt || unread || c.in != nil && c.in.Buffered() > 0:
		c.farewell()
	}
	return false
}

// finishEvents is finish for a response that became an event stream.
func (x *exchange) finishEvents() (more bool) {
	c := x.client
	switch more = x.events.end(); {
	case x.events.broken:
		return false
	case more && !x.spoilt && !c.handler.leaving():
		return true
	case x.spoilt || c.in != nil && c.in.Buffered() > 0:
		c.farewell()
	}
	return false
}

func (x *exchange) write() error {
	w := writers.Get().(*bufio.Writer)
	defer writers.Put(w)
	w.Reset(x.client.conn)
	defer w.Reset(nil)
	if err := x.response.Write(w); err != nil {
		return err
	}
	return w.Flush()
}
