package inside

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

func TestEachKindIsRelayed(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	for _, c := range []struct {
		method, params, payload, result string
		kind                            codec.Kind
	}{
		{"tools/list", ``, `null`, `{"tools":[]}`, codec.ListTools},
		{"tools/list", `null`, `null`, `{"tools":[]}`, codec.ListTools},
		{"tools/list", `{}`, `{}`, `{"tools":[],"nextCursor":"x"}`, codec.ListTools},
		{"resources/list", `{"cursor":"x"}`, `{"cursor":"x"}`, `{"resources":[]}`, codec.ListResources},
		{"tools/call", `{ "name":"t","n":1e400, "\u0061":9007199254740993 }`, `{ "name":"t","n":1e400, "\u0061":9007199254740993 }`, `{"content":[],"x":[ 1, 2 ]}`, codec.CallTool},
		{"resources/read", `{"uri":"file:///é"}`, `{"uri":"file:///é"}`, `{"contents":[]}`, codec.ReadResource},
	} {
		body := `{"jsonrpc":"2.0","id":5,"method":"` + c.method + `"`
		if c.params != "" {
			body += `,"params":` + c.params
		}
		reply := s.start(body + `}`)
		a := p.next()
		if a.kind != c.kind || string(a.payload) != c.payload {
			t.Errorf("%s %s: the server heard %v %s", c.method, c.params, a.kind, a.payload)
		}
		p.result(a, c.result)
		r := reply.wait(200).is(200, `{"jsonrpc":"2.0","id":5,"result":`+c.result+`}`)
		if got := r.header.Get("Content-Type"); got != "application/json" {
			t.Errorf("the response's type is %q", got)
		}
		w.observed.await(t, "exchange "+c.kind.Name()+" answered", 1)
	}
}

func TestIDsAreKeptByteForByte(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	w.provide("c1").echo()
	for _, id := range []string{`9007199254740993`, `""`, `0`, `-1`, `-0`, `"1"`, `"a\"b\\c\u0000\ud83d\ude00"`, `"\/"`, `"é\u2028"`, `123456789012345678901234567890`} {
		s.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list"}`).
			is(200, `{"jsonrpc":"2.0","id":`+id+`,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`)
		s.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`).is(200, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		s.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"x"}`).fails(200, -32601, id, "")
		s.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, with("MCP-Protocol-Version", "1999-01-01")).fails(400, -32022, id, "")
	}
}

func TestErrorAnswerIsSpliced(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	fault := `{"code":-32042,"message":"é","data":{"a":[1.0]},"more":null}`
	p.answer(p.next(), codec.AppendError(nil, []byte(fault)))
	reply.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"error":`+fault+`}`)
}

// TestOutcomesWithoutAnAnswer says what each way of not getting one looks like.
func TestOutcomesWithoutAnAnswer(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	for _, c := range []struct {
		name    string
		end     func(heard)
		message string
		data    string
	}{
		{"A6 not served", func(a heard) { p.open(a, nil).Closed(nil) }, "not served", `{"reason":"not-served"}`},
		{"A7 unreadable", func(a heard) { p.answer(a, []byte("\x02{}")) }, "could not be read", `{"reason":"unreadable","cause":"`},
		{"A7 not JSON", func(a heard) { p.answer(a, []byte("\x00{")) }, "could not be read", `{"reason":"unreadable","cause":"`},
		{"W9 too big", func(a heard) { p.open(a, nil).TooBig(4096) }, "too big", `{"reason":"too-big","limit":4096}`},
		{"stopped", func(heard) { w.mux.Stop() }, "may have been carried out", `{"reason":"stopped"}`},
	} {
		reply := s.start(`{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"t"}}`)
		c.end(p.next())
		r := reply.wait(200).fails(200, -32603, `"q"`, c.message)
		if !strings.Contains(r.body, `"data":`+c.data) {
			t.Errorf("%s: got %s, want data %s", c.name, r.body, c.data)
		}
	}
}

// TestStoppedBeforeAServerHeard tells callers that it is safe to try again.
func TestStoppedBeforeAServerHeard(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	reply := s.start(callBody)
	awaitWaiting(t, w.mux, 1)
	w.mux.Stop()
	reply.wait(200).fails(200, codeInternal, "1", "no server had heard of this request: it was not carried out, try again")
}

func TestDuplicateIDInFlightIsRefused(t *testing.T) {
	w := newWorld(t)
	s, other, p := w.connect("c1"), w.connect("c1"), w.provide("c1")
	body := `{"jsonrpc":"2.0","id":"a/b","method":"tools/call","params":{"name":"t"}}`
	first := s.start(body)
	a := p.next()
	s.send(body).fails(400, -32600, `"a/b"`, "same id")
	s.send(strings.Replace(body, `a/b`, `a\/b`, 1)).fails(400, -32600, `"a\/b"`, "same id")

	// Another session may use the same id at the same time.
	second := other.start(body)
	b := p.next()
	p.result(b, `{"content":[2]}`)
	p.result(a, `{"content":[1]}`)
	first.wait(200).is(200, `{"jsonrpc":"2.0","id":"a/b","result":{"content":[1]}}`)
	second.wait(200).is(200, `{"jsonrpc":"2.0","id":"a/b","result":{"content":[2]}}`)

	// Once answered the id is free again: reuse is not ours to judge.
	third := s.start(body)
	p.result(p.next(), `{"content":[3]}`)
	third.wait(200).is(200, `{"jsonrpc":"2.0","id":"a/b","result":{"content":[3]}}`)
}

// TestManyCallsInFlight has 300 calls of three sessions wait together, all with
// the same ids, and answers them in reverse.
func TestManyCallsInFlight(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	const each = 100
	var replies []*pending
	var want []string
	for range 3 {
		s := w.connect("c1")
		for i := range each {
			replies = append(replies, s.start(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","n":%d}}`, i, len(replies))))
			want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[%d]}}`, i, len(want)))
		}
	}
	asks := make([]heard, len(replies))
	for range replies {
		a := p.next()
		var params struct{ N int }
		if err := json.Unmarshal(a.payload, &params); err != nil {
			t.Fatal(err)
		}
		asks[params.N] = a
	}
	for i := len(asks) - 1; i >= 0; i-- {
		p.result(asks[i], fmt.Sprintf(`{"content":[%d]}`, i))
	}
	for i, reply := range replies {
		reply.wait(200).is(200, want[i])
	}
	face := w.mux.Lookup("c1").Sink().(*Face)
	face.mu.Lock()
	defer face.mu.Unlock()
	if face.calls.len() != 0 || face.calls.more != nil {
		t.Errorf("the map of %d calls is kept", each*3)
	}
}

// TestResultOf3MB has a result larger than what other gateways cut it to.
func TestResultOf3MB(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 3<<20) + `"}]}`
	p.result(p.next(), result)
	if got := reply.wait(200); got.body != `{"jsonrpc":"2.0","id":1,"result":`+result+`}` {
		t.Errorf("got %d bytes", len(got.body))
	}
}

// TestBodyLimit wants 413 for a body that is too big, never a parse error,
// however it is framed, and the client gets to read it.
func TestBodyLimit(t *testing.T) {
	w := newWorld(t, func(o *options) { o.maxBody = 64 << 10 })
	s := w.connect("c1")
	w.provide("c1").echo()
	big := func(n int) string {
		empty := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":""}}`
		return strings.Replace(empty, `""`, `"`+strings.Repeat("x", n-len(empty))+`"`, 1)
	}
	chunked := func(r *http.Request) { r.ContentLength = -1 }
	expecting := with("Expect", "100-continue")
	for name, changes := range map[string][]func(*http.Request){"length": nil, "chunked": {chunked}, "expecting": {expecting}} {
		s.send(big(64<<10), changes...).is(200, "")
		for _, n := range []int{64<<10 + 1, 1 << 20, 16 << 20} {
			r := s.send(big(n), changes...)
			r.fails(413, codeTransport, "", "65536")
			if t.Failed() {
				t.Fatal(name, n)
			}
		}
	}
	w.observed.await(t, "refused inside body-too-big", 9)
}

// TestBodyOfARefusedRequestIsNotRead sends a header alone and gets the refusal.
func TestBodyOfARefusedRequestIsNotRead(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		head   string
		status int
	}{
		{postHead("/nowhere", "", "Content-Length: 1000000"), 404},
		{postHead("/mcp", "", "Content-Length: 1000000", "Origin: http://evil.example.com"), 403},
		{postHead("/mcp", "", "Transfer-Encoding: chunked", "Content-Encoding: gzip"), 415},
		{postHead("/mcp", "", "Content-Length: 1000000000"), 413},
		{strings.Replace(postHead("/mcp", "", "Content-Length: 1000000"), "POST", "PUT", 1), 405},
	} {
		conn := w.raw(c.head)
		in := bufio.NewReader(conn)
		r := w.readResponse(in, "POST").is(c.status, "")
		if !r.closes {
			t.Errorf("%d: the connection is not announced to close", c.status)
		}
		if _, err := in.ReadByte(); err == nil {
			t.Errorf("%d: something follows the response", c.status)
		}
		_ = conn.Close()
	}
}

func TestContainersDoNotMeet(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for i := range 8 {
		id := fmt.Sprintf("c%d", i)
		w.provide(id).echo()
		s := w.connect(id)
		for n := range 10 {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1%d,"method":"tools/call","params":{"of":%q}}`, n, id)
			reply := s.start(body)
			all.Go(func() {
				if r := <-reply.got; !strings.Contains(r.body, `\"of\":\"`+id+`\"`) {
					t.Errorf("%s got %s", id, r.body)
				}
			})
		}
	}
	all.Wait()
}

func TestCallIsAskedBeforeAServerIsThere(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	reply := s.start(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	awaitWaiting(t, w.mux, 1)
	p := w.provide("c1")
	p.result(p.next(), `{"tools":[]}`)
	reply.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)
}

// awaitWaiting waits until so many asks wait for a connection.
func awaitWaiting(t testing.TB, m *mux.Mux, n int64) {
	t.Helper()
	await(t, "asks waiting", func() bool { return m.Stats().Waiting == n })
}

func TestPanicIsAnsweredCountedAndLoggedOnce(t *testing.T) {
	var log lockedBuffer
	w := newWorld(t, func(o *options) { o.logger = jsonLogger(&log) })
	s := w.connect("c1")
	w.clock.breakOnce("a test panic")
	s.send(pingBody).fails(500, -32603, "", "failed")
	w.observed.await(t, "panicked "+PanicRequest, 1)
	if n := bytes.Count(log.bytes(), []byte("a test panic")); n != 1 {
		t.Errorf("the panic was logged %d times: %s", n, log.bytes())
	}
	s.send(pingBody).is(200, "")
}
