package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var errNoSession = errors.New("no session came about in time")

// connectError is an attempt to connect that failed.
type connectError struct{ cause error }

func (e *connectError) Error() string { return reason(e.cause) }
func (e *connectError) Unwrap() error { return e.cause }

// brokenError is a request that the connection or the session failed.
type brokenError struct {
	cause error
	// unexecuted: the server certainly did not run the request, so that it may be sent again.
	unexecuted bool
}

func (e *brokenError) Error() string { return reason(e.cause) }
func (e *brokenError) Unwrap() error { return e.cause }

// unusableError is what a server that lives gave for an answer, and is none.
type unusableError struct{ problem string }

func (e *unusableError) Error() string { return e.problem }

// refusedError is an HTTP status that a request was refused with.
type refusedError struct {
	status    int
	body      []byte // as much of it as was read
	session   bool   // the request named a session
	stateless bool   // the request was a stateless one
}

func (e *refusedError) Error() string {
	text := fmt.Sprintf("HTTP status %d %s", e.status, http.StatusText(e.status))
	if line := firstLine(e.body, 200); line != "" {
		text += ": " + line
	}
	return text
}

// doubtful reports whether the refusal may mean that the session is unknown to the server (404 by the book, and 400 from
// many a server), or that the server is of another era by now.
func (e *refusedError) doubtful() bool {
	if e.stateless {
		return e.unknown() && !e.is(codeHeaderMismatch) && !e.is(codeMissingCapability)
	}
	return e.session && (e.status == http.StatusNotFound || e.status == http.StatusBadRequest) || e.is(codeUnsupportedVersion)
}

// is reports whether the refusal has a JSON-RPC error of that code.
func (e *refusedError) is(code int64) bool {
	object := e.object()
	return object != nil && object.Code == code
}

// unknown reports whether the status says that the server does not know what it was asked, or how: not that it wants
// other credentials, or is busy, or down.
func (e *refusedError) unknown() bool {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return e.status < 500
}

// object is the JSON-RPC error in the refusal's body, nil if there is none.
func (e *refusedError) object() *jsonrpc.Error {
	msg, err := codec.ParseMessage(e.body)
	if err != nil || msg.Form != codec.FormResponse || len(msg.Error) == 0 {
		return nil
	}
	object, err := codec.ParseError(msg.Error)
	if err != nil {
		return nil
	}
	return &jsonrpc.Error{Code: int64(object.Code), Message: object.Message, Data: object.Data}
}

// unsent reports whether err says that no connection came about, so that nothing can have reached the server.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// reason is the text of err without the URL that net/http puts in front: a URL may carry a secret.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// firstLine is the first line of text, at most limit bytes of it, fit for a message.
func firstLine(text []byte, limit int) string {
	line := make([]byte, 0, min(len(text), limit))
	for _, c := range text {
		if c == '\n' || c == '\r' || len(line) == limit {
			break
		}
		if c >= ' ' && c != 0x7f {
			line = append(line, c)
		}
	}
	return string(toValidUTF8(line))
}
