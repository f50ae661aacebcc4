package outside

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/httphead"
	"github.com/diverge-network/gateway/internal/limit"
)

// Reason says in one word why a request was refused. It is the value of the
// metric's reason label.
type Reason string

// The reasons, in the order in which a request is judged (protocol W8), and
// after them those of HTTP that never reaches a path.
const (
	ReasonUnknownPath    Reason = "unknown-path"
	ReasonBadContainer   Reason = "bad-container"
	ReasonMethod         Reason = "method"
	ReasonOrigin         Reason = "origin"
	ReasonBody           Reason = "body"
	ReasonUpgrade        Reason = "no-upgrade"
	ReasonUnknownChannel Reason = "unknown-channel"
	ReasonPathOpen       Reason = "path-open"
	ReasonClaimed        Reason = "claimed"
	ReasonMaxContainers  Reason = "max-containers"
	ReasonMemory         Reason = "memory-pressure"
	ReasonShutdown       Reason = "shutdown"
	ReasonPanic          Reason = "panic"
	ReasonHeaderTooBig   Reason = "header-too-big"
	ReasonTimeout        Reason = "timeout"
	ReasonMalformed      Reason = "malformed"
	ReasonTLS            Reason = "tls"

	// What is ended, or not held, for a limit was no request.
	ReasonStall            Reason = "socket-stall"
	ReasonMaxBuffered      Reason = limit.Buffered
	ReasonMaxBufferedTotal Reason = limit.BufferedTotal
)

// refusal is the HTTP response that belongs to a reason.
type refusal struct {
	reason  Reason
	status  int
	text    string
	headers [][2]string
	last    bool // the connection ends with it
}

var refusals = append(unidentified(), []refusal{
	{reason: ReasonUnknownPath, status: http.StatusNotFound,
		text: "no such path: there is /requests and /mcp/{kind}/{channel}, the channel in plain decimal, each also under /containers/{id}, and /containers; MCP clients belong on the inside listener"},
	{reason: ReasonBadContainer, status: http.StatusNotFound,
		text: "no such container: an id is 1 to 128 of A-Z a-z 0-9 . _ - and does not start with a dot"},
	{reason: ReasonMethod, status: http.StatusMethodNotAllowed,
		text:    "this path is opened with GET, and with a WebSocket upgrade unless it is /containers",
		headers: [][2]string{{"Allow", http.MethodGet}}},
	{reason: ReasonOrigin, status: http.StatusForbidden,
		text: "web pages may not play the server: this Origin is not allowed (name it with --allow-origin)"},
	{reason: ReasonBody, status: http.StatusBadRequest,
		text: "a GET has no body here: send no Content-Length and no Transfer-Encoding"},
	{reason: ReasonUpgrade, status: http.StatusUpgradeRequired,
		text: "this path is opened with a WebSocket upgrade: HTTP/1.1, Connection: Upgrade, Upgrade: websocket, " +
			"Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key of 16 bytes in base64",
		headers: [][2]string{{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}}},
	{reason: ReasonUnknownChannel, status: http.StatusNotFound,
		last: true, text: "no such channel: it was never announced with this kind, or it is finished"},
	{reason: ReasonPathOpen, status: http.StatusConflict,
		last: true, text: "the path of this channel is open already"},
	{reason: ReasonClaimed, status: http.StatusConflict,
		last: true, text: "this container has a /requests connection already: close it first, or try again once it has ended"},
	{reason: ReasonMaxContainers, status: http.StatusServiceUnavailable, headers: [][2]string{{"Retry-After", "1"}},
		last: true, text: "the gateway has too many containers, and this would be a new one: try again"},
	{reason: ReasonMemory, status: http.StatusServiceUnavailable,
		last: true, text: "the gateway is short of memory (GOMEMLIMIT, or its cgroup's limit) and begins nothing new: try again",
		headers: [][2]string{{"Retry-After", "1"}}},
	{reason: ReasonShutdown, status: http.StatusServiceUnavailable,
		last: true, text: "the gateway is shutting down: try again"},
	{reason: ReasonPanic, status: http.StatusInternalServerError,
		last: true, text: "the gateway failed on this request: its log says why"},
	{reason: ReasonHeaderTooBig, status: http.StatusRequestHeaderFieldsTooLarge,
		last: true, text: "the request's headers are over " + strconv.Itoa(maxHeader) + " bytes, or over " + strconv.Itoa(httphead.MaxLines) + " lines"},
	{reason: ReasonTimeout, status: http.StatusRequestTimeout,
		last: true, text: "no whole request arrived within " + handshakeTimeout.String()},
	{reason: ReasonMalformed, status: http.StatusBadRequest,
		last: true, text: "malformed HTTP request"},
	// The connection is closed: nobody is there who could read a response.
	{reason: ReasonTLS,
		last: true, text: "no TLS was spoken, or not so that it could be understood and trusted"},
}...)

// Reasons returns every reason there is, so that each can be counted from zero.
func Reasons() []string {
	all := make([]string, len(refusals), len(refusals)+3)
	for i := range refusals {
		all[i] = string(refusals[i].reason)
	}
	return append(all, string(ReasonStall), string(ReasonMaxBuffered), string(ReasonMaxBufferedTotal))
}

func refusalFor(r Reason) *refusal {
	for i := range refusals {
		if refusals[i].reason == r {
			return &refusals[i]
		}
	}
	panic("outside: a reason without a refusal: " + string(r))
}

const textPlain = "text/plain; charset=utf-8"

// appendResponse appends the refusal as a whole HTTP response; cause, where there
// is one, follows the text on the same line. connection is the header of that
// name, or "".
func (r *refusal) appendResponse(dst []byte, cause error, connection string, withBody bool) []byte {
	body := r.body(cause)
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(r.status), 10)
	dst = append(dst, ' ')
	dst = append(dst, http.StatusText(r.status)...)
	dst = append(dst, "\r\nDate: "...)
	dst = fasthttp.AppendHTTPDate(dst, time.Now())
	dst = append(dst, "\r\nContent-Type: "+textPlain+"\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	if connection != "" {
		dst = appendHeader(dst, "Connection", connection)
	}
	for _, h := range r.headers {
		dst = appendHeader(dst, h[0], h[1])
	}
	dst = append(dst, "\r\n\r\n"...)
	if withBody {
		dst = append(dst, body...)
	}
	return dst
}

func appendHeader(dst []byte, name, value string) []byte {
	dst = append(append(dst, "\r\n"...), name...)
	return append(append(dst, ": "...), value...)
}

func (r *refusal) body(cause error) string {
	if cause == nil {
		return r.text + "\n"
	}
	return r.text + ": " + oneLine(cause.Error()) + "\n"
}

// oneLine keeps what a peer sent from breaking the line that quotes it.
func oneLine(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "..."
	}
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return ' '
		}
		return r
	}, []byte(s)))
}
