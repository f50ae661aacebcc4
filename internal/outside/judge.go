package outside

import (
	"errors"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/httphead"
	"github.com/diverge-network/gateway/internal/origin"
	"github.com/diverge-network/gateway/internal/wsock"
)

// judge finds what the shape of the arrival's request says. A panic refuses it.
func (a *arrival) judge() (t target, key []byte, r Reason, cause error) {
	defer a.handler.recovered(panicRequest, func() { r = ReasonPanic })
	return a.handler.judge(&a.header, &a.identity)
}

// judge finds what a request's shape says, in the order of protocol W8: the
// path, the method, who sends it, the upgrade, which only the list of containers
// does not need. What is returned is borrowed from the header, or from who, which
// it sets. The reason is "" when only the state can still refuse it.
func (h *Handler) judge(header *fasthttp.RequestHeader, who *auth.Identity) (t target, key []byte, r Reason, cause error) {
	if t, r = parseTarget(header.RequestURI()); r != "" {
		return t, nil, r, nil
	}
	if !header.IsGet() {
		return t, nil, ReasonMethod, nil
	}
	if !h.allows(header) {
		return t, nil, ReasonOrigin, nil
	}
	if *who, r = h.identify(header, &t); r != "" {
		return t, nil, r, nil
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

// hasBody says that a body follows, which is never read.
func hasBody(header *fasthttp.RequestHeader) bool {
	n := header.ContentLength()
	return n > 0 || n == httphead.Chunked
}
