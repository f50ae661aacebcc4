package inside

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
)

// Names of headers, as fasthttp normalizes them.
const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
)

// judge is what can be said of a request by its head alone, its session apart:
// the container it addresses and whose it is, or why it is refused. What is common
// to all comes first, then who it is, and to who may not know nothing more is said.
func (h *Handler) judge(header *fasthttp.RequestHeader) (container string, who auth.Identity, refused Reason, d detail) {
	id, refused, d := h.judgePath(header)
	if refused == "" {
		container, who, refused, d = h.identify(header, id)
	}
	if refused == "" {
		refused, d = h.judgeMethod(header)
	}
	return container, who, refused, d
}

// judgePath judges path, origin and method. The id is borrowed, and nil for a path
// without one.
func (h *Handler) judgePath(header *fasthttp.RequestHeader) (id []byte, refused Reason, d detail) {
	id, refused = endpoint(header.RequestURI())
	if refused != "" {
		return nil, refused, d
	}
	// What two parties may read differently is not read at all. Session and
	// revision are judged once it is known whether they mean something.
	if ambiguous(header.PeekAll(fasthttp.HeaderOrigin)) {
		return nil, ReasonMalformed, detail{cause: "there are two Origin headers that differ"}
	}
	if origin := header.Peek(fasthttp.HeaderOrigin); len(origin) > 0 && !h.origins.Allow(origin) {
		return nil, ReasonOrigin, d
	}
	switch string(header.Method()) {
	case fasthttp.MethodPost, fasthttp.MethodGet, fasthttp.MethodDelete, fasthttp.MethodOptions:
		return id, "", d
	default:
		return nil, ReasonMethod, d
	}
}

// judgeMethod judges what a method wants of the other headers.
func (h *Handler) judgeMethod(header *fasthttp.RequestHeader) (refused Reason, d detail) {
	switch string(header.Method()) {
	case fasthttp.MethodPost:
		refused = judgePost(header)
		if length := header.ContentLength(); refused == "" && length > h.cfg.MaxBody {
			refused, d = ReasonTooBig, h.limit()
		}
	case fasthttp.MethodGet:
		if !accepts(header.PeekAll(fasthttp.HeaderAccept), mediaStream) {
			refused = ReasonAccept
		}
	}
	return refused, d
}

func judgePost(header *fasthttp.RequestHeader) Reason {
	if !isMedia(header.ContentType(), mediaJSON) {
		return ReasonContentType
	}
	for _, coding := range header.PeekAll(fasthttp.HeaderContentEncoding) {
		if len(coding) > 0 && !equalFold(coding, "identity") {
			return ReasonContentEncoding
		}
	}
	lines := header.PeekAll(fasthttp.HeaderAccept)
	if !accepts(lines, mediaJSON) || !accepts(lines, mediaStream) {
		return ReasonAccept
	}
	return ""
}

// ambiguous reports whether a header of one value was given several.
func ambiguous(values [][]byte) bool {
	for i := 1; i < len(values); i++ {
		if !bytes.Equal(values[0], values[i]) {
			return true
		}
	}
	return false
}

// limit adds to a refusal of a body how big it may be.
func (h *Handler) limit() detail {
	return detail{cause: "the limit is " + strconv.Itoa(h.cfg.MaxBody) + " bytes"}
}
