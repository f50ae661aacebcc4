package inside

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// What a page of an allowed origin may send and read. A browser asks before it
// sends (OPTIONS), and keeps from the page what no header shares.
const (
	sharedMethods = "GET, POST, DELETE"
	sharedHeaders = "Content-Type, Accept, Authorization, Mcp-Protocol-Version, Mcp-Session-Id, " +
		"Last-Event-ID, Mcp-Method, Mcp-Name"
	exposedHeaders = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
	// preflightAge is for how many seconds a browser need not ask again.
	preflightAge = "7200"
)

// paramPrefix begins the headers that carry a tool's arguments. They have no
// closed list, so those that a page asks for are granted by name.
const paramPrefix = "mcp-param-"

// preflight answers an OPTIONS, whose Origin was judged already.
func (h *Handler) preflight(x *exchange) {
	x.response.SetStatusCode(fasthttp.StatusNoContent)
	x.response.Header.Set(fasthttp.HeaderAllow, allowedMethods)
	if h.sharedWith(&x.request.Header) == nil {
		return
	}
	header := &x.response.Header
	header.Set(fasthttp.HeaderAccessControlAllowMethods, sharedMethods)
	header.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, grantedHeaders(x.request.Header.Peek(fasthttp.HeaderAccessControlRequestHeaders)))
	header.Set(fasthttp.HeaderAccessControlMaxAge, preflightAge)
	if string(x.request.Header.Peek("Access-Control-Request-Private-Network")) == "true" {
		header.Set("Access-Control-Allow-Private-Network", "true")
	}
}

// grantedHeaders is the list of headers that a page may send, and of those it
// asks for the ones that carry arguments.
func grantedHeaders(asked []byte) []byte {
	granted := []byte(sharedHeaders)
	for len(asked) > 0 {
		var name []byte
		name, asked, _ = bytes.Cut(asked, []byte(","))
		name = bytes.TrimSpace(name)
		if len(name) > len(paramPrefix) && equalFold(name[:len(paramPrefix)], paramPrefix) && isHeaderName(name) {
			granted = append(append(granted, ", "...), name...)
		}
	}
	return granted
}

// isHeaderName reports whether a name can be a header's.
func isHeaderName(name []byte) bool {
	for _, c := range name {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) < 0 {
			return false
		}
	}
	return len(name) > 0
}

// sharedWith is the origin whose page may read the response; nil where the
// request comes from no page, or from one that is not allowed.
func (h *Handler) sharedWith(header *fasthttp.RequestHeader) []byte {
	origins := header.PeekAll(fasthttp.HeaderOrigin)
	if len(origins) == 0 || len(origins[0]) == 0 || ambiguous(origins) || !h.origins.Allow(origins[0]) {
		return nil
	}
	return origins[0]
}

// share lets the page that sent the request read the response.
func (h *Handler) share(request *fasthttp.RequestHeader, response *fasthttp.ResponseHeader) {
	origin := h.sharedWith(request)
	if origin == nil {
		return
	}
	response.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
	response.Set(fasthttp.HeaderAccessControlExposeHeaders, exposedHeaders)
	response.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
}

// appendSharing is share for the head of an event stream, as raw lines.
func (h *Handler) appendSharing(dst []byte, request *fasthttp.RequestHeader) []byte {
	origin := h.sharedWith(request)
	if origin == nil {
		return dst
	}
	dst = append(dst, fasthttp.HeaderAccessControlAllowOrigin+": "...)
	dst = append(dst, origin...)
	return append(dst, "\r\n"+fasthttp.HeaderAccessControlExposeHeaders+": "+exposedHeaders+
		"\r\n"+fasthttp.HeaderVary+": "+fasthttp.HeaderOrigin+"\r\n"...)
}
