package inside

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// response is a whole HTTP response.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	closes bool // the connection
}

// client makes requests on connections of its own.
func newClient(t testing.TB) *http.Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// post is a POST with everything right, which changes spoil.
func (w *world) post(path, body string, changes ...func(*http.Request)) *http.Request {
	r, err := http.NewRequest(http.MethodPost, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, change := range changes {
		change(r)
	}
	return r
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Set(name, value)
	}
}

func method(name string) func(*http.Request) {
	return func(r *http.Request) { r.Method = name }
}

func do(t testing.TB, c *http.Client, r *http.Request) response {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{t, resp.StatusCode, resp.Header, string(body), resp.Close}
}

// is checks the status and, unless want is "", the body.
func (r response) is(status int, want string) response {
	r.t.Helper()
	if r.status != status || want != "" && r.body != want {
		r.t.Fatalf("got %d %s\nwant %d %s", r.status, r.body, status, want)
	}
	return r
}

// fails checks for a JSON-RPC error: its HTTP status, code, id ("" for none),
// and a part of its message.
func (r response) fails(status int, code int32, id, part string) response {
	r.t.Helper()
	var got struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *struct {
			Code    int32           `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.JSONRPC != "2.0" || got.Error == nil {
		r.t.Fatalf("got %d %q, want a JSON-RPC error", r.status, r.body)
	}
	if r.status != status || got.Error.Code != code || string(got.ID) != id || !strings.Contains(got.Error.Message, part) {
		r.t.Fatalf("got %d %s\nwant %d, code %d, id %q, %q in the message", r.status, r.body, status, code, id, part)
	}
	return r
}

// mcpSession is a client with a session. Each request goes out on its own
// goroutine's connection.
type mcpSession struct {
	w     *world
	http  *http.Client
	path  string
	token string
}

// connect initializes a session of a container.
func (w *world) connect(container string) *mcpSession {
	w.t.Helper()
	path := "/containers/" + container + "/mcp"
	if container == defaultContainer {
		path = "/mcp"
	}
	return w.connectAt(path)
}

const initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (w *world) connectAt(path string) *mcpSession {
	w.t.Helper()
	s := &mcpSession{w: w, http: newClient(w.t), path: path}
	r := do(w.t, s.http, w.post(path, initializeBody)).is(200, "")
	s.token = r.header.Get("Mcp-Session-Id")
	if s.token == "" {
		w.t.Fatal("initialize gave no session id")
	}
	return s
}

func (s *mcpSession) request(body string, changes ...func(*http.Request)) *http.Request {
	return s.w.post(s.path, body, append([]func(*http.Request){with("Mcp-Session-Id", s.token)}, changes...)...)
}

// send sends a message and waits for the response.
func (s *mcpSession) send(body string, changes ...func(*http.Request)) response {
	s.w.t.Helper()
	return do(s.w.t, s.http, s.request(body, changes...))
}

func (s *mcpSession) delete() response {
	s.w.t.Helper()
	return do(s.w.t, s.http, s.request("", method(http.MethodDelete)))
}

// pending is a response that has yet to come.
type pending struct {
	t      testing.TB
	got    chan response
	failed chan error
	leave  context.CancelFunc // closes the connection
}

// start sends a message without waiting for the response.
func (s *mcpSession) start(body string, changes ...func(*http.Request)) *pending {
	return s.startRequest(s.request(body, changes...))
}

func (s *mcpSession) startRequest(r *http.Request) *pending {
	ctx, cancel := context.WithCancel(context.Background())
	s.w.t.Cleanup(cancel)
	p := &pending{t: s.w.t, got: make(chan response, 1), failed: make(chan error, 1), leave: cancel}
	r = r.WithContext(ctx)
	go func() {
		resp, err := s.http.Do(r)
		if err != nil {
			p.failed <- err
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			p.failed <- err
			return
		}
		p.got <- response{s.w.t, resp.StatusCode, resp.Header, string(text), resp.Close}
	}()
	return p
}

func (p *pending) wait(status int) response {
	p.t.Helper()
	select {
	case r := <-p.got:
		return r.is(status, "")
	case err := <-p.failed:
		p.t.Fatal(err)
	case <-time.After(patience):
		p.t.Fatal("no response came")
	}
	panic("unreachable")
}

// raw sends bytes on a connection of their own and returns it.
func (w *world) raw(request string) net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		w.t.Fatal(err)
	}
	return conn
}

// readResponse reads one response from a raw connection.
func (w *world) readResponse(conn *bufio.Reader, method string) response {
	w.t.Helper()
	resp, err := http.ReadResponse(conn, &http.Request{Method: method})
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response{w.t, resp.StatusCode, resp.Header, string(body), resp.Close}
}

func postHead(path, token string, extra ...string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", path)
	if token != "" {
		fmt.Fprintf(&b, "Mcp-Session-Id: %s\r\n", token)
	}
	for _, line := range extra {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}
