package upstream

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	idleTimeout = 90 * time.Second
	// refusalBody is how much of a refusal's body is kept.
	refusalBody = 64 << 10
)

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(original *http.Request) (*http.Response, error) {
	req := original.Clone(original.Context())
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if req.URL.Host == t.dialer.endpoint.Host {
		for name, values := range t.dialer.header {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if version := t.version.Load(); version != nil && req.Header.Get("Mcp-Protocol-Version") == "" {
		req.Header.Set("Mcp-Protocol-Version", *version)
	}
	posted := req.Method == http.MethodPost
	isStateless := x != nil && x.routing != nil
	switch {
	case posted && isStateless:
		x.routing.set(req.Header)
	case isStateless: // the connection would resume a stream that has event ids: there is no such thing
		return ended(req), nil
	case posted && x != nil && x.standalone:
		makeStandalone(req)
	}
	resp, err := t.dialer.base.RoundTrip(req)
	if isStateless && err == nil {
		resp.Header.Del("Mcp-Session-Id")
	}
	switch {
	case err != nil:
		return nil, err
	case x == nil: // the DELETE at the end
		return resp, nil
	case !posted:
		return t.resumed(req, resp)
	case resp.StatusCode >= 300 && !redirects(resp):
		x.refusal = refusal(req, resp)
		x.refusal.stateless = isStateless
		return transient(req), nil
	case x.standalone && resp.StatusCode == http.StatusOK && !isMediaType(resp, "text/event-stream"):
		discard(resp)
		x.refusal = &refusedError{status: http.StatusMethodNotAllowed, body: []byte("the answer to GET is no event stream")}
		return transient(req), nil
	case x.call != "" && isMediaType(resp, "application/json"):
		return t.checked(req, resp, x)
	case x.call != "" && !isMediaType(resp, "text/event-stream"):
		discard(resp)
		return nil, &unusableError{fmt.Sprintf("the answer, of HTTP status %d, has the content type %q", resp.StatusCode, resp.Header.Get("Content-Type"))}
	}
	return resp, nil
}

// redirects reports whether http.Client follows, or refuses to.
func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// resumed passes on a stream that the connection resumes by itself, after an interruption. One that cannot be resumed
// becomes an empty one: that ends the one request, where a refusal would end the session.
func (t *roundTripper) resumed(req *http.Request, resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusOK && isMediaType(resp, "text/event-stream") {
		return resp, nil
	}
	discard(resp)
	return ended(req), nil
}

// ended is a stream of no events.
func ended(req *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"text/event-stream"}},
		Body:    http.NoBody,
		Request: req,
	}
}

// checked reads a JSON answer to its end. What fails here fails one request, at once.
func (t *roundTripper) checked(req *http.Request, resp *http.Response, x *exchange) (*http.Response, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(t.dialer.limit)+1))
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(body) > t.dialer.limit {
		return nil, &unusableError{fmt.Sprintf("the answer is over the limit of %d bytes", t.dialer.limit)}
	}
	msg, err := codec.ParseMessage(body)
	switch {
	case err != nil:
		return nil, &unusableError{"the answer is not a JSON-RPC message: " + err.Error()}
	case msg.Form != codec.FormResponse:
		return nil, &unusableError{"the answer is a JSON-RPC message, but not a response"}
	case msg.ID == nil: // an error about a request the server could not read: it can only be this one
		x.refusal = &refusedError{status: resp.StatusCode, body: body, stateless: x.routing != nil}
		return transient(req), nil
	case string(msg.ID) != x.call:
		return nil, &unusableError{fmt.Sprintf("the answer is one to the request %s, but this is %s", firstLine(msg.ID, 100), x.call)}
	case msg.Error != nil:
		if _, err := jsonrpc.DecodeMessage(body); err != nil { // the connection would end over it
			return nil, &unusableError{"the answer is an error that cannot be read: " + err.Error()}
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

func refusal(req *http.Request, resp *http.Response) *refusedError {
	defer discard(resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, refusalBody))
	if err != nil {
		body = nil // the status says enough
	}
	return &refusedError{status: resp.StatusCode, body: body, session: req.Header.Get("Mcp-Session-Id") != ""}
}

// transient is an answer that the SDK's connection survives.
func transient(req *http.Request) *http.Response {
	return &http.Response{
		Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  make(http.Header),
		Body:    http.NoBody,
		Request: req,
	}
}

// discard reads a little of what is left, so that the connection can be used again, and closes the body.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, refusalBody) // a failure only costs the connection
	resp.Body.Close()
}

func isMediaType(resp *http.Response, want string) bool {
	got, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && got == want
}

// makeStandalone turns a POST of the connection into the GET that opens the standalone stream.
func makeStandalone(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
	req.Method = http.MethodGet
	req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", "text/event-stream")
}
