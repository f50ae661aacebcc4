package inside

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/httphead"
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/pkg/codec"
)

// Reason says in one word why a request was refused. It is the value of the
// metric's reason label.
type Reason string

// The reasons, roughly in the order in which a request is judged.
const (
	ReasonMalformed        Reason = "malformed"
	ReasonTimeout          Reason = "timeout"
	ReasonHeaderTooBig     Reason = "header-too-big"
	ReasonUnknownPath      Reason = "unknown-path"
	ReasonBadContainer     Reason = "bad-container"
	ReasonOrigin           Reason = "origin"
	ReasonMethod           Reason = "method"
	ReasonContentType      Reason = "content-type"
	ReasonContentEncoding  Reason = "content-encoding"
	ReasonAccept           Reason = "accept"
	ReasonTooBig           Reason = "body-too-big"
	ReasonMaxBuffered      Reason = limit.Buffered
	ReasonMaxBufferedTotal Reason = limit.BufferedTotal
	ReasonMemory           Reason = "memory-pressure"
	ReasonNotJSON          Reason = "not-json"
	ReasonNotMessage       Reason = "not-a-message"
	ReasonRequestMeta      Reason = "request-meta"
	ReasonHeaderMismatch   Reason = "header-mismatch"
	ReasonRevision         Reason = "protocol-version"
	ReasonNoSession        Reason = "no-session"
	ReasonUnknownSession   Reason = "unknown-session"
	ReasonDuplicateID      Reason = "duplicate-id"
	ReasonMaxAsks          Reason = "max-asks"
	ReasonMaxWaiting       Reason = "max-waiting"
	ReasonMaxAsksTotal     Reason = "max-asks-total"
	ReasonMaxStreams       Reason = "max-streams"
	ReasonMaxContainers    Reason = "max-containers"
	ReasonShutdown         Reason = "shutdown"
	ReasonPanic            Reason = "panic"
	ReasonTLS              Reason = "tls"
)

// JSON-RPC error codes.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeTransport          = -32000 // HTTP that no JSON-RPC code fits
	codeSessionNotFound    = -32001
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

// refusal is the HTTP response that belongs to a reason.
type refusal struct {
	reason Reason
	status int
	code   int32
	text   string
}

const allowedMethods = "GET, POST, DELETE, OPTIONS"

var refusals = append(unidentified(), []refusal{
	{ReasonMalformed, fasthttp.StatusBadRequest, codeTransport,
		"malformed HTTP request"},
	{ReasonTimeout, fasthttp.StatusRequestTimeout, codeTransport,
		"the request did not arrive in time"},
	{ReasonHeaderTooBig, fasthttp.StatusRequestHeaderFieldsTooLarge, codeTransport,
		"the request's headers are over " + strconv.Itoa(maxHeader) + " bytes, or over " + strconv.Itoa(httphead.MaxLines) + " lines"},
	{ReasonUnknownPath, fasthttp.StatusNotFound, codeTransport,
		"no such path: MCP is served at /mcp and at /containers/{id}/mcp; the provider's server belongs on the outside listener"},
	{ReasonBadContainer, fasthttp.StatusNotFound, codeTransport,
		"no such container: an id is 1 to 128 of A-Z a-z 0-9 . _ - and does not start with a dot"},
	{ReasonOrigin, fasthttp.StatusForbidden, codeTransport,
		"this Origin is not allowed: name it with --allow-origin"},
	{ReasonMethod, fasthttp.StatusMethodNotAllowed, codeTransport,
		"method not allowed: POST sends a message, GET opens the event stream, DELETE ends the session"},
	{ReasonContentType, fasthttp.StatusUnsupportedMediaType, codeTransport,
		"Content-Type must be application/json"},
	{ReasonContentEncoding, fasthttp.StatusUnsupportedMediaType, codeTransport,
		"a compressed body is not supported: send it without Content-Encoding"},
	{ReasonAccept, fasthttp.StatusNotAcceptable, codeTransport,
		"Accept must include application/json and text/event-stream for POST, and text/event-stream for GET"},
	{ReasonTooBig, fasthttp.StatusRequestEntityTooLarge, codeTransport,
		"the request's body is too big"},
	{ReasonMaxBuffered, fasthttp.StatusTooManyRequests, codeInternal,
		"the requests and answers of this container take up too much room: try again when some are done"},
	{ReasonMaxBufferedTotal, fasthttp.StatusServiceUnavailable, codeInternal,
		"the requests and answers of all containers take up too much room: try again"},
	{ReasonMemory, fasthttp.StatusServiceUnavailable, codeInternal,
		"the gateway is short of memory, and begins nothing new: try again"},
	{ReasonNotJSON, fasthttp.StatusBadRequest, codeParse,
		"Parse error"},
	{ReasonNotMessage, fasthttp.StatusBadRequest, codeInvalidRequest,
		"Invalid Request"},
	{ReasonRequestMeta, fasthttp.StatusBadRequest, codeInvalidParams,
		"Invalid params"},
	{ReasonHeaderMismatch, fasthttp.StatusBadRequest, codeHeaderMismatch,
		"Header mismatch"},
	{ReasonRevision, fasthttp.StatusBadRequest, codeUnsupportedVersion,
		"Unsupported protocol version (supported are " + supportedText + ")"},
	{ReasonNoSession, fasthttp.StatusBadRequest, codeInvalidRequest,
		"Mcp-Session-Id is missing: send initialize first, and the session id of its response with every later request"},
	// The very body that lets clients see a lost session: without the request's id.
	{ReasonUnknownSession, fasthttp.StatusNotFound, codeSessionNotFound,
		"Session not found: send initialize again, without Mcp-Session-Id"},
	{ReasonDuplicateID, fasthttp.StatusBadRequest, codeInvalidRequest,
		"Invalid Request: another request of this session with the same id is still being answered"},
	{ReasonMaxAsks, fasthttp.StatusTooManyRequests, codeInternal,
		"too many requests of this container are being answered: try again when one of them is"},
	{ReasonMaxWaiting, fasthttp.StatusTooManyRequests, codeInternal,
		"no server is there for this container, and too many of its requests wait for one: try again when it is"},
	{ReasonMaxAsksTotal, fasthttp.StatusServiceUnavailable, codeInternal,
		"the gateway has too many requests to answer: try again"},
	{ReasonMaxStreams, fasthttp.StatusTooManyRequests, codeInternal,
		"this container has too many event streams open: close one, or try again when one has ended"},
	{ReasonMaxContainers, fasthttp.StatusServiceUnavailable, codeInternal,
		"the gateway has too many containers, and this would be a new one: try again"},
	{ReasonShutdown, fasthttp.StatusServiceUnavailable, codeInternal,
		"the gateway is shutting down: try again"},
	{ReasonPanic, fasthttp.StatusInternalServerError, codeInternal,
		"the gateway failed on this request: its log says why"},
	// The connection is closed: nobody is there who could read a response.
	{ReasonTLS, 0, 0,
		"no TLS was spoken, or not so that it could be understood and trusted"},
}...)

// Reasons returns every reason there is, so that each can be counted from zero.
func Reasons() []string {
	all := make([]string, len(refusals))
	for i := range refusals {
		all[i] = string(refusals[i].reason)
	}
	return all
}

func refusalFor(r Reason) *refusal {
	for i := range refusals {
		if refusals[i].reason == r {
			return &refusals[i]
		}
	}
	panic("inside: a reason without a refusal: " + string(r))
}

// detail is what a refusal says about the request at hand.
type detail struct {
	id    []byte // the request's id, where it is known
	cause string // follows the text
	data  []byte // the error object's data

	challenge string // of a 401
}

// refuse makes the refusal x's response, counts it and logs it.
func (h *Handler) refuse(x *exchange, reason Reason, d detail) {
	r := refusalFor(reason)
	h.observer.Refused(Listener, string(reason))
	h.logRefused(r, d.cause, x.client.conn, x.head())
	x.reset()
	x.response.SetStatusCode(r.status)
	x.response.Header.SetContentType(mediaJSON)
	if reason == ReasonMethod {
		x.response.Header.Set(fasthttp.HeaderAllow, allowedMethods)
	}
	if r.passing() {
		x.response.Header.Set(fasthttp.HeaderRetryAfter, retryAfter)
	}
	if d.challenge != "" {
		x.response.Header.Set(fasthttp.HeaderWWWAuthenticate, d.challenge)
	}
	x.response.SetBodyRaw(r.body(d))
}

// retryAfter is after how many seconds a client may try again what was refused for
// something that passes.
const retryAfter = "1"

func (r *refusal) passing() bool {
	return r.status == fasthttp.StatusTooManyRequests || r.status == fasthttp.StatusServiceUnavailable
}

func (r *refusal) body(d detail) []byte {
	text := r.text
	if d.cause != "" {
		text += ": " + d.cause
	}
	fault := codec.Error{Code: r.code, Message: text, Data: d.data}
	return codec.AppendErrorResponse(nil, d.id, fault.Append(nil))
}
