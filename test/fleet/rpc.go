package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	revision       = "2025-11-25"
	revisionHeader = "Mcp-Protocol-Version"
	mediaJSON      = "application/json"
	mediaStream    = "text/event-stream"
)

// content and toolResult are the part of MCP's result of tools/call that is used here.
type (
	content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	toolResult struct {
		Content []content `json:"content"`
	}
)

// endpoint is the inside of the gateway, where each container has its URL. All containers share the connections of calls,
// so that one and the same connection carries calls of many; each event stream has its own.
type endpoint struct {
	base    string // http://host:port
	calls   *http.Transport
	streams *http.Transport
}

func newEndpoint(base string) *endpoint {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &endpoint{
		base:    base,
		calls:   &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second},
		streams: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10},
	}
}

func (e *endpoint) close() {
	e.calls.CloseIdleConnections()
	e.streams.CloseIdleConnections()
}

// message is a JSON-RPC message of ours or of the gateway's.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      *uint64         `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// rpcError is a JSON-RPC error that a call was answered with.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// statusError is a response with a status that was not expected.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }

// unreadableError is a response that is none.
type unreadableError struct{ cause error }

func (e *unreadableError) Error() string { return "unreadable answer: " + e.cause.Error() }
func (e *unreadableError) Unwrap() error { return e.cause }

const largestResponse = 1 << 20

func (e *endpoint) request(ctx context.Context, method, container, session string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, e.base+"/containers/"+container+"/mcp", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", mediaJSON+", "+mediaStream)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", mediaJSON)
	}
	if session != "" {
		r.Header.Set(sessionHeader, session)
		r.Header.Set(revisionHeader, revision)
	}
	return r, nil
}

// do makes one exchange over HTTP and returns the response's body, and the session that it names.
func (e *endpoint) do(ctx context.Context, method, container, session string, m *message, want int) (body []byte, named string, err error) {
	var sent []byte
	if m != nil {
		m.Version = "2.0"
		if sent, err = json.Marshal(m); err != nil {
			return nil, "", err
		}
	}
	r, err := e.request(ctx, method, container, session, sent)
	if err != nil {
		return nil, "", err
	}
	response, err := e.calls.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, largestResponse))
	switch {
	case err != nil:
		return nil, "", err
	case response.StatusCode != want:
		return nil, "", &statusError{response.StatusCode, string(body)}
	}
	if response.Header.Get("Content-Type") == mediaStream {
		body = lastEvent(body)
	}
	return body, response.Header.Get(sessionHeader), nil
}

// lastEvent is the data of a stream's last event, which the response to a request that took long is.
func lastEvent(stream []byte) []byte {
	_, data, _ := bytes.Cut(stream[max(0, bytes.LastIndex(stream, []byte("\ndata: "))):], []byte("data: "))
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return line
}

// ask makes one JSON-RPC request. The id that the answer bears is for the caller to compare.
func (e *endpoint) ask(ctx context.Context, container, session string, m *message) (answer message, named string, err error) {
	body, named, err := e.do(ctx, http.MethodPost, container, session, m, http.StatusOK)
	if err != nil {
		return answer, "", err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, "", &unreadableError{fmt.Errorf("%w in %.200q", err, body)}
	}
	if answer.ID == nil {
		return answer, "", &unreadableError{fmt.Errorf("no id in %.200q", body)}
	}
	return answer, named, nil
}

func (e *endpoint) initialize(ctx context.Context, container string) (session string, err error) {
	id := uint64(0)
	answer, session, err := e.ask(ctx, container, "", &message{ID: &id, Method: "initialize", Params: map[string]any{
		"protocolVersion": revision,
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "fleet", "version": "1"},
	}})
	switch {
	case err != nil:
		return "", err
	case answer.Error != nil:
		return "", answer.Error
	case session == "":
		return "", errors.New("initialize was answered without a session")
	}
	_, _, err = e.do(ctx, http.MethodPost, container, session, &message{Method: "notifications/initialized"}, http.StatusAccepted)
	return session, err
}

// say makes one call of the tool, which says the same back. It returns whom the answer is for by its id, and what it says.
func (e *endpoint) say(ctx context.Context, container, session string, id uint64, words string) (answered uint64, said string, err error) {
	answer, _, err := e.ask(ctx, container, session, &message{ID: &id, Method: "tools/call", Params: map[string]any{
		"name":      "say",
		"arguments": map[string]any{"say": words},
	}})
	switch {
	case err != nil:
		return 0, "", err
	case answer.Error != nil:
		return *answer.ID, "", answer.Error
	}
	var result toolResult
	if err := json.Unmarshal(answer.Result, &result); err != nil || len(result.Content) != 1 {
		return *answer.ID, "", &unreadableError{fmt.Errorf("result %.200q", answer.Result)}
	}
	return *answer.ID, result.Content[0].Text, nil
}

func (e *endpoint) end(ctx context.Context, container, session string) error {
	_, _, err := e.do(ctx, http.MethodDelete, container, session, nil, http.StatusNoContent)
	return err
}

// listen opens the session's event stream. It ends with ctx.
func (e *endpoint) listen(ctx context.Context, container, session string) (io.ReadCloser, error) {
	r, err := e.request(ctx, http.MethodGet, container, session, nil)
	if err != nil {
		return nil, err
	}
	response, err := e.streams.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(response.Body, largestResponse)) // what came is reason enough
		return nil, &statusError{response.StatusCode, string(body)}
	}
	return response.Body, nil
}
