package outside

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/origin"
	"github.com/diverge-network/gateway/internal/wsock"
)

// judge finds what a request's shape says, in the order of protocol W8: the
// path, the method, who sends it, the upgrade, which only the list of containers
// does not need. What is returned is borrowed from the header. The reason is ""
// when only the state can still refuse it.
func (h *Handler) judge(header *fasthttp.RequestHeader) (t target, key []byte, r Reason, cause error) {
	if t, r = parseTarget(header.RequestURI()); r != "" {
		return t, nil, r, nil
	}
	if !header.IsGet() {
		return t, nil, ReasonMethod, nil
	}
	if !h.allows(header) {
		return t, nil, ReasonOrigin, nil
	}
	if hasBody(header) {
		return t, nil, ReasonBody, nil
	}
	if t.list {
		return t, nil, "", nil
	}
	if !header.IsHTTP11() {
		return t, nil, ReasonUpgrade, errHTTP11
	}
	key, err := wsock.CheckUpgrade(header)
	if err != nil {
		return t, nil, ReasonUpgrade, err
	}
	return t, key, "", nil
}

// allows keeps web pages from playing the server: a browser opens WebSockets
// across origins for any of them. Some libraries for programs send an Origin
// too, that of the URL they were given; a page can do that by rebinding a name
// to loopback, so there it has to be a name of this machine.
func (h *Handler) allows(header *fasthttp.RequestHeader) bool {
	for _, from := range header.PeekAll(fasthttp.HeaderOrigin) {
		if !h.origins.Allow(from) && (h.loopback || !origin.Same(from, header.Host())) {
			return false
		}
	}
	return true
}

var errHTTP11 = errors.New("the request is not HTTP/1.1")

// bodyMark is put in place of what announces a body. A peer that sends it
// itself is taken at its word.
const bodyMark = "Gateway-Unread-Body"

// headerReceived is called before fasthttp reads a body, which it would do
// before anything is judged. It makes it see none: the body stays unread.
func headerReceived(header *fasthttp.RequestHeader) (unchanged fasthttp.RequestConfig) {
	// -1 is chunked, -2 is none.
	if n := header.ContentLength(); n > 0 || n == -1 {
		header.SetContentLength(0)
		header.Del(fasthttp.HeaderExpect)
		header.Set(bodyMark, "1")
	}
	return unchanged
}

func hasBody(header *fasthttp.RequestHeader) bool { return len(header.Peek(bodyMark)) > 0 }

// handle answers a request whose shape is wrong, and has every other
// connection handed over.
func (h *Handler) handle(ctx *fasthttp.RequestCtx) {
	defer h.recovered(panicRequest, func() { h.refuse(ctx, ReasonPanic, nil) })
	t, key, reason, cause := h.judge(&ctx.Request.Header)
	// Without a response of fasthttp's the hijack handler is not skipped for
	// "Connection: close", nor for a response that cannot be written.
	switch {
	case reason == "":
		u := h.newUpgrade(t, key)
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) { u.take(c) })
	case hasBody(&ctx.Request.Header):
		h.refused(refusalFor(reason), ctx.RemoteAddr(), ctx.Request.Header.RequestURI(), cause)
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) { h.turnAwayUnread(c, reason) })
	default:
		h.refuse(ctx, reason, cause)
	}
}

// failed answers what was no whole request.
func (h *Handler) failed(ctx *fasthttp.RequestCtx, err error) {
	defer h.recovered(panicRequest, func() { h.refuse(ctx, ReasonPanic, nil) })
	var tooBig *fasthttp.ErrSmallBuffer
	var netErr net.Error
	switch {
	case errors.As(err, &tooBig):
		h.refuse(ctx, ReasonHeaderTooBig, nil)
	case errors.As(err, &netErr) && netErr.Timeout():
		h.refuse(ctx, ReasonTimeout, nil)
	default:
		h.refuse(ctx, ReasonMalformed, err)
	}
}

func (h *Handler) refuse(ctx *fasthttp.RequestCtx, reason Reason, cause error) {
	r := refusalFor(reason)
	h.refused(r, ctx.RemoteAddr(), ctx.Request.Header.RequestURI(), cause)
	r.respond(ctx, cause)
}
