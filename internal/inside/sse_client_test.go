package inside

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
)

// eventStream is the client's end of a GET.
type eventStream struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	head *http.Response
}

func getHead(path, token string, extra ...string) string {
	head := "GET " + path + " HTTP/1.1\r\nHost: gateway\r\nAccept: text/event-stream\r\nMcp-Session-Id: " + token + "\r\n"
	for _, line := range extra {
		head += line + "\r\n"
	}
	return head + "\r\n"
}

// listen opens the session's event stream and reads up to its first comment.
func (s *mcpSession) listen(extra ...string) *eventStream {
	s.w.t.Helper()
	return s.adopt(s.w.raw(getHead(s.path, s.token, extra...)))
}

// adopt reads the stream that conn has asked for up to its first comment.
func (s *mcpSession) adopt(conn net.Conn) *eventStream {
	s.w.t.Helper()
	e := s.readHead(conn)
	if got := e.block(); got != ": open" {
		s.w.t.Fatalf("the stream began with %q", got)
	}
	return e
}

// readHead reads the head of the stream that conn has asked for.
func (s *mcpSession) readHead(conn net.Conn) *eventStream {
	s.w.t.Helper()
	e := &eventStream{t: s.w.t, conn: conn, in: bufio.NewReader(conn)}
	var err error
	e.head, err = http.ReadResponse(e.in, &http.Request{Method: http.MethodGet})
	if err != nil {
		s.w.t.Fatal(err)
	}
	if e.head.StatusCode != 200 {
		body, _ := io.ReadAll(e.head.Body)
		s.w.t.Fatalf("GET: %d %s", e.head.StatusCode, body)
	}
	e.in = bufio.NewReader(e.head.Body)
	return e
}

// listenOnPipe opens the session's event stream on a pipe: what is written waits
// until it is read.
func (s *mcpSession) listenOnPipe() *eventStream {
	s.w.t.Helper()
	read, ok := s.w.faces.verify("c1", []byte(s.token))
	if !ok {
		s.w.t.Fatal("the session is none of container c1")
	}
	server, client := net.Pipe()
	s.w.t.Cleanup(func() { _ = client.Close() })
	go s.w.handler.stream(sock.Wrap(server), &listening{container: there(s.w.mux.Enter("c1")), session: read})
	return s.adopt(client)
}

// block reads up to the next empty line.
func (e *eventStream) block() string {
	e.t.Helper()
	var lines []string
	for {
		line, err := e.in.ReadString('\n')
		if err != nil {
			e.t.Fatalf("the stream ended after %q: %v", lines, err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, line)
	}
}

// event reads the next block, which must be an event with that JSON.
func (e *eventStream) event(want string) {
	e.t.Helper()
	if got := e.block(); got != "event: message\ndata: "+want {
		e.t.Fatalf("got %q\nwant an event with %s", got, want)
	}
}

// ends checks that nothing follows.
func (e *eventStream) ends() {
	e.t.Helper()
	rest, err := io.ReadAll(e.in)
	if err != nil || len(rest) > 0 {
		e.t.Fatalf("the stream ended with %q, %v", rest, err)
	}
}

func readAll(t testing.TB, conn net.Conn) string {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
