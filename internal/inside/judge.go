package inside

import (
	"github.com/valyala/fasthttp"
)

// Names of headers, as fasthttp normalizes them.
const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
)

// smallBody is the longest body that is read even of a request that will be
// refused: that is cheaper than the connection, which is lost otherwise.
const smallBody = 8 << 10

// judge is what can be said of a request before its body: the container it
// addresses (borrowed, nil for the default one), or why it is refused. It has
// no effect, so it may be asked again.
func (h *Handler) judge(header *fasthttp.RequestHeader) (id []byte, refused Reason) {
	id, refused = endpoint(header.RequestURI())
	if refused != "" {
		return nil, refused
	}
	if origin := header.Peek(fasthttp.HeaderOrigin); len(origin) > 0 && !h.origins.allow(origin) {
		return nil, ReasonOrigin
	}
	switch string(header.Method()) {
	case fasthttp.MethodPost:
		return id, h.judgePost(header)
	case fasthttp.MethodGet:
		if !accepts(header.PeekAll(fasthttp.HeaderAccept), mediaStream) {
			return nil, ReasonAccept
		}
		return id, ""
	case fasthttp.MethodDelete:
		return id, ""
	default:
		return nil, ReasonMethod
	}
}

func (h *Handler) judgePost(header *fasthttp.RequestHeader) Reason {
	if !isMedia(header.ContentType(), mediaJSON) {
		return ReasonContentType
	}
	if coding := header.Peek(fasthttp.HeaderContentEncoding); len(coding) > 0 && !equalFold(coding, "identity") {
		return ReasonContentEncoding
	}
	lines := header.PeekAll(fasthttp.HeaderAccept)
	if !accepts(lines, mediaJSON) || !accepts(lines, mediaStream) {
		return ReasonAccept
	}
	if header.ContentLength() > h.cfg.MaxBody {
		return ReasonTooBig
	}
	return ""
}

// headerReceived keeps fasthttp from reading a body that is long, or of unknown
// length, when the request will be refused: it is made to look like one that
// waits to be told to go on, and expected tells it not to.
func (h *Handler) headerReceived(header *fasthttp.RequestHeader) (config fasthttp.RequestConfig) {
	if length := header.ContentLength(); length >= 0 && length <= smallBody || length == noBody {
		return config
	}
	if _, refused := h.judge(header); refused != "" {
		header.Set(fasthttp.HeaderExpect, "100-continue")
	}
	return config
}

// noBody is fasthttp's ContentLength of a request that has neither a length nor
// a transfer coding.
const noBody = -2

// expected decides whether a request that waits for 100 Continue gets it.
func (h *Handler) expected(ctx *fasthttp.RequestCtx) int {
	_, refused := h.judge(&ctx.Request.Header)
	if refused == "" {
		return fasthttp.StatusContinue
	}
	h.refuse(ctx, refused, h.refusalDetail(refused))
	h.farewell(ctx)
	return ctx.Response.StatusCode()
}
