package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
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
	status  int
	body    []byte // as much of it as was read
	session bool   // the request named a session
}

func (e *refusedError) Error() string {
	text := fmt.Sprintf("HTTP status %d %s", e.status, http.StatusText(e.status))
	if line := firstLine(e.body, 200); line != "" {
		text += ": " + line
	}
	return text
}

// doubtful reports whether the refusal may mean that the session is unknown to the server: 404 by the book, and 400
// from many a server.
func (e *refusedError) doubtful() bool {
	return e.session && (e.status == http.StatusNotFound || e.status == http.StatusBadRequest)
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
