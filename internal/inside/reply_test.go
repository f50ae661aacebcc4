package inside

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// postOn sends a message on a connection and returns that.
func (s *mcpSession) postOn(conn net.Conn, body string, extra ...string) {
	s.w.t.Helper()
	write(s.w.t, conn, postHead(s.path, s.token, append(extra, fmt.Sprintf("Content-Length: %d", len(body)))...)+body)
}

// answered reads the head of a POST's response from a connection.
func (w *world) answered(conn net.Conn, in *bufio.Reader) *eventStream {
	w.t.Helper()
	e := &eventStream{t: w.t, conn: conn}
	var err error
	if e.head, err = http.ReadResponse(in, &http.Request{Method: http.MethodPost}); err != nil {
		w.t.Fatal(err)
	}
	e.in = bufio.NewReader(e.head.Body)
	return e
}

// isStream checks the head of a response that is an event stream.
func (e *eventStream) isStream() *eventStream {
	e.t.Helper()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	} {
		if got := e.head.Header.Get(name); e.head.StatusCode != 200 || got != want {
			e.t.Fatalf("got status %d and %s %q, want 200 and %q", e.head.StatusCode, name, got, want)
		}
	}
	return e
}

func progressCall(id, token string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":` + token + `}}}`
}

func progressOf(token string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, n)
}

// token is the progress token that an ask came with.
func (a heard) token(t testing.TB) string {
	t.Helper()
	meta, err := codec.Member(a.payload, "_meta")
	if err != nil {
		t.Fatal(err)
	}
	token, err := codec.Member(meta, "progressToken")
	if err != nil || token == nil {
		t.Fatalf("the server heard %s: %v", a.payload, err)
	}
	return string(token)
}

const emptyContent = `{"content":[]}`

func answerOf(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + emptyContent + `}`
}

// TestConnectionIsUsedAgainAfterAStream has each response become a stream by
// progress, and the next request follow it on its connection, early or late.
func TestConnectionIsUsedAgainAfterAStream(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn := w.raw("")
	in := bufio.NewReader(conn)
	for i := range 4 {
		s.postOn(conn, progressCall("1", `"mine"`))
		if i%2 == 1 {
			s.postOn(conn, pingBody)
		}
		a := p.next()
		p.notify(progressOf(a.token(t), 1))
		e := w.answered(conn, in).isStream()
		e.event(progressOf(`"mine"`, 1))
		p.notify(progressOf(a.token(t), 2))
		e.event(progressOf(`"mine"`, 2))
		p.notify(progressOf(a.token(t), 3))
		p.result(a, emptyContent)
		e.event(progressOf(`"mine"`, 3))
		e.event(answerOf("1"))
		e.ends()
		if e.head.Close {
			t.Fatal("the connection is announced to close")
		}
		if i%2 == 1 {
			w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
		}
	}
	w.observed.await(t, "exchange call-tool answered", 4)
	if n := w.observed.of("unheard " + UnheardProgress); n != 0 {
		t.Errorf("%d notifications were heard by nobody", n)
	}
}

// TestSlowAnswerBecomesAStreamThatIsKeptAlive asks for no progress.
func TestSlowAnswerBecomesAStreamThatIsKeptAlive(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond} {
		w := newWorld(t, func(o *options) { o.sseAfter, o.keepAlive = after, time.Millisecond })
		s, p := w.connect("c1"), w.provide("c1")
		conn := w.raw("")
		in := bufio.NewReader(conn)
		s.postOn(conn, callBody)
		a := p.next()
		e := w.answered(conn, in).isStream()
		for range 5 {
			if got := e.block(); got != ": keepalive" {
				t.Fatalf("got %q, want a comment", got)
			}
		}
		p.result(a, `{"content":[`+"\n1,\r\n"+`2]}`)
		got := e.block()
		for got == ": keepalive" {
			got = e.block()
		}
		if want := "event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{"content":[ 1,  2]}}`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		e.ends()
		s.postOn(conn, pingBody)
		w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
	}
}

// TestNeverKeepsResponsesJSON counts the progress that nobody hears.
func TestNeverKeepsResponsesJSON(t *testing.T) {
	w := newWorld(t, func(o *options) { o.sseAfter, o.keepAlive = Never, time.Millisecond })
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(progressCall("1", "5"))
	a := p.next()
	p.notify(progressOf(a.token(t), 1))
	w.observed.await(t, "unheard "+UnheardProgress, 1)
	p.result(a, emptyContent)
	if r := reply.wait(200).is(200, answerOf("1")); r.header.Get("Content-Type") != "application/json" {
		t.Errorf("the response is of type %s", r.header.Get("Content-Type"))
	}
}

// TestOldConnectionsEndWithTheStream has clients that know no chunks, or that
// want no more.
func TestOldConnectionsEndWithTheStream(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	for name, change := range map[string]func(string) string{
		"HTTP/1.0": func(r string) string { return strings.Replace(r, "HTTP/1.1", "HTTP/1.0", 1) },
		"HTTP/1.0 keep-alive": func(r string) string {
			return strings.Replace(r, "HTTP/1.1\r\n", "HTTP/1.0\r\nConnection: keep-alive\r\n", 1)
		},
		"Connection: close": func(r string) string {
			return strings.Replace(r, "HTTP/1.1\r\n", "HTTP/1.1\r\nConnection: close\r\n", 1)
		},
	} {
		body := progressCall("1", "5")
		conn := w.raw(change(postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(body))) + body))
		a := p.next()
		p.notify(progressOf(a.token(t), 1))
		in := bufio.NewReader(conn)
		e := w.answered(conn, in).isStream()
		if chunked := len(e.head.TransferEncoding) > 0; chunked != (name == "Connection: close") || !e.head.Close {
			t.Errorf("%s: chunked %v, closes %v", name, chunked, e.head.Close)
		}
		e.event(progressOf("5", 1))
		p.result(a, emptyContent)
		e.event(answerOf("1"))
		e.ends()
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("%s: the connection goes on: %v", name, err)
		}
	}
}

// TestA10_CancelEndsAStreamWithoutAResponse leaves the connection as it is.
func TestA10_CancelEndsAStreamWithoutAResponse(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn := w.raw("")
	in := bufio.NewReader(conn)
	s.postOn(conn, progressCall("1", "5"))
	a := p.next()
	closed := make(unserved)
	p.open(a, closed)
	p.notify(progressOf(a.token(t), 1))
	e := w.answered(conn, in).isStream()
	e.event(progressOf("5", 1))
	s.send(cancelBody("1")).is(202, "")
	e.ends()
	<-closed
	p.notify(progressOf(a.token(t), 2))
	w.observed.await(t, "unheard "+UnheardProgress, 1)
	s.postOn(conn, pingBody)
	w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
}

// modernCall is a call of the stateless revision.
func modernCall(id, token string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":` + token +
		`,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

var modernHead = []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: t"}

// TestA10_EndOfAStreamIsWhatItsEraSays has clients leave in the midst of a stream:
// one with a session leaves its ask behind, one without cancels it.
func TestA10_EndOfAStreamIsWhatItsEraSays(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	seen := make(map[string]int)
	for outcome, send := range map[string]func(net.Conn){
		"left":      func(conn net.Conn) { s.postOn(conn, progressCall("1", "5")) },
		"cancelled": func(conn net.Conn) { s.postOn(conn, modernCall("1", "5"), modernHead...) },
	} {
		for how, depart := range map[string]func(testing.TB, net.Conn){
			"closed": func(_ testing.TB, c net.Conn) { _ = c.Close() }, "reset": reset, "half": halfClose,
		} {
			conn := w.raw("")
			send(conn)
			a := p.next()
			closed := make(unserved)
			path := p.open(a, closed)
			p.notify(progressOf(a.token(t), 1))
			e := w.answered(conn, bufio.NewReader(conn)).isStream()
			e.event(progressOf("5", 1))
			depart(t, conn)
			seen[outcome]++
			w.observed.await(t, "exchange call-tool "+outcome, seen[outcome])
			if outcome == "cancelled" {
				<-closed
				path.Closed(nil)
			} else {
				path.Arrived()
				path.Closed(codec.AppendResult(nil, []byte(emptyContent)))
			}
			if how == "half" {
				if got := e.block(); !strings.Contains(got, "ended its connection") {
					t.Errorf("got %q", got)
				}
				e.ends()
			}
		}
	}
	if got := w.mux.Stats().DroppedAnswers; got != 3 {
		t.Errorf("%d answers were dropped, want 3", got)
	}
}

// TestModernCallsAreKnownByNothing has two clients without sessions use the same
// id and the same token at once.
func TestModernCallsAreKnownByNothing(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	s := &mcpSession{w: w, path: "/containers/c1/mcp"}
	var conns [2]net.Conn
	var asks [2]heard
	for i := range conns {
		conns[i] = w.raw("")
		s.postOn(conns[i], modernCall("1", "5"), modernHead...)
		asks[i] = p.next()
	}
	for i, a := range asks {
		p.notify(progressOf(a.token(t), i))
		p.result(a, fmt.Sprintf(`{"resultType":"complete","content":[%d],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, i))
	}
	for i, conn := range conns {
		e := w.answered(conn, bufio.NewReader(conn)).isStream()
		e.event(progressOf("5", i))
		if got := e.block(); !strings.Contains(got, fmt.Sprintf(`"content":[%d]`, i)) {
			t.Errorf("got %s", got)
		}
		e.ends()
	}
}

// TestSessionThatEndsEndsItsStreams tells the client of a stream that its session
// was ended.
func TestSessionThatEndsEndsItsStreams(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn := w.raw("")
	s.postOn(conn, progressCall("1", "5"))
	a := p.next()
	p.notify(progressOf(a.token(t), 1))
	e := w.answered(conn, bufio.NewReader(conn)).isStream()
	e.event(progressOf("5", 1))
	s.delete().is(204, "")
	if got := e.block(); !strings.Contains(got, "session was ended") {
		t.Errorf("got %q", got)
	}
	e.ends()
}

// TestShutdownEndsStreamsWithAnAnswer closes the connection behind it.
func TestShutdownEndsStreamsWithAnAnswer(t *testing.T) {
	w := newWorld(t, func(o *options) { o.sseAfter = 0 })
	s, p := w.connect("c1"), w.provide("c1")
	conn := w.raw("")
	in := bufio.NewReader(conn)
	s.postOn(conn, callBody)
	p.next()
	e := w.answered(conn, in).isStream()
	if got := e.block(); got != ": keepalive" {
		t.Errorf("got %q", got)
	}
	w.stop()
	if got := e.block(); !strings.Contains(got, "shutting down") {
		t.Errorf("got %q", got)
	}
	e.ends()
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}
}

// TestPanicBreaksAStreamOff does not let it look complete.
func TestPanicBreaksAStreamOff(t *testing.T) {
	w := newWorld(t, func(o *options) { o.sseAfter = 0 })
	s, p := w.connect("c1"), w.provide("c1")
	conn := w.raw("")
	s.postOn(conn, callBody)
	a := p.next()
	e := w.answered(conn, bufio.NewReader(conn)).isStream()
	if got := e.block(); got != ": keepalive" {
		t.Errorf("got %q", got)
	}
	w.clock.breakOnce("a test panic")
	p.result(a, emptyContent)
	if rest, err := io.ReadAll(e.in); err != io.ErrUnexpectedEOF || len(rest) > 0 {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
	w.observed.await(t, "panicked "+PanicRequest, 1)
}

// TestPanicOverAnAnswerIsTold has the client of a call hear of it: nobody else
// would tell it that there is nothing to wait for.
func TestPanicOverAnAnswerIsTold(t *testing.T) {
	w := newWorld(t)
	r := w.reply(nil)
	c := r.dummy()
	asked := c.asking
	c.asking = nil
	func() {
		defer func() { _ = recover() }()
		c.Settle(mux.Settlement{Outcome: mux.Answered})
		t.Error("there was no panic")
	}()
	c.asking = asked
	r.wait()
	if out := r.outs[0]; out == nil || !strings.Contains(string(out.B), "failed on the answer") {
		t.Errorf("the client is told %v", out)
	}
}

// TestStreamOutlivesItsReply has the last part of a response be written when its
// reply may be another request's already.
func TestStreamOutlivesItsReply(t *testing.T) {
	w := newWorld(t)
	conn, client := connected(t)
	x := w.exchange(conn)
	r := w.handler.takeReply(x, there(w.mux.Container("c1")))
	r.commit()
	r.wait()
	r.release()
	r.news <- news{}
	defer func() { <-r.news }()
	x.events.message(&codec.Buffer{B: []byte(`{}`)})
	if !x.finish() {
		t.Error("no other request may follow")
	}
	_ = conn.CloseWrite()
	if got := readAll(t, client); !strings.HasSuffix(got, "\r\n\r\n00000019\r\nevent: message\ndata: {}\n\n\r\n0\r\n\r\n") {
		t.Errorf("got %q", got)
	}
}
