package inside

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// connectOld initializes a session of a revision that has batches.
func (w *world) connectOld(container string) *mcpSession {
	w.t.Helper()
	s := &mcpSession{w: w, http: newClient(w.t), path: "/containers/" + container + "/mcp"}
	r := do(w.t, s.http, w.post(s.path, strings.Replace(initializeBody, "2025-11-25", "2025-03-26", 1))).is(200, "")
	s.token = r.header.Get("Mcp-Session-Id")
	return s
}

func batchOf(messages ...string) string { return "[ " + strings.Join(messages, " ,\n") + " ]" }

func callWithID(id string) string { return strings.Replace(callBody, `"id":1`, `"id":`+id, 1) }

const pong = `{"jsonrpc":"2.0","id":7,"result":{}}`

// TestBatchIsAnsweredByAnArray has the answers come in reverse.
func TestBatchIsAnsweredByAnArray(t *testing.T) {
	w := newWorld(t)
	s, p := w.connectOld("c1"), w.provide("c1")
	reply := s.start(batchOf(callWithID("1"), pingBody, toolsChangedByClient, callWithID(`"1"`), `{"jsonrpc":"2.0","id":9,"result":{}}`,
		`{"jsonrpc":"2.0","id":3,"method":"nothing"}`, `{"jsonrpc":"2.0","id":4,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":5}`, `[]`, `7`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"_meta":7}}`))
	a, b := p.next(), p.next()
	p.result(b, `{"content":[2]}`)
	p.result(a, `{"content":[1]}`)
	r := reply.wait(200)
	var got []string
	elements, err := codec.AppendBatch(nil, []byte(r.body), maxBatch)
	if err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	for _, e := range elements {
		got = append(got, string(e))
	}
	for i, want := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[1]}}`,
		pong,
		`{"jsonrpc":"2.0","id":"1","result":{"content":[2]}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,`,
		`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,`,
		`{"jsonrpc":"2.0","error":{"code":-32600,`,
		`{"jsonrpc":"2.0","error":{"code":-32600,`,
		`{"jsonrpc":"2.0","id":8,"error":{"code":-32602,`,
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("response %d of %q is not %s", i, got, want)
		}
	}
	if len(got) != 9 {
		t.Errorf("there are %d responses: %q", len(got), got)
	}
	if r.header.Get("Content-Type") != "application/json" {
		t.Errorf("the response is of type %s", r.header.Get("Content-Type"))
	}
	w.observed.await(t, "exchange call-tool answered", 2)
	w.observed.await(t, "refused inside not-a-message", 3)
}

const toolsChangedByClient = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`

func TestBatchOfOneIsAnArray(t *testing.T) {
	w := newWorld(t)
	s, p := w.connectOld("c1"), w.provide("c1")
	s.send(batchOf(pingBody)).is(200, "["+pong+"]")
	reply := s.start(batchOf(callBody))
	p.result(p.next(), emptyContent)
	reply.wait(200).is(200, "["+answerOf("1")+"]")
}

func TestBatchWithoutRequestsIsAccepted(t *testing.T) {
	w := newWorld(t)
	s := w.connectOld("c1")
	for _, body := range []string{
		batchOf(toolsChangedByClient), batchOf(cancelBody("1"), toolsChangedByClient), batchOf(`{"jsonrpc":"2.0","id":9,"result":{}}`),
	} {
		if r := s.send(body).is(202, ""); r.body != "" {
			t.Errorf("got %q", r.body)
		}
	}
}

// TestBatchesThatAreNone are refused as a whole, and nothing of them is done.
func TestBatchesThatAreNone(t *testing.T) {
	w := newWorld(t)
	s, newer, p := w.connectOld("c1"), w.connect("c1"), w.provide("c1")
	for name, body := range map[string]string{
		"empty":      "[]",
		"initialize": batchOf(callBody, initializeBody),
		"stateless":  batchOf(callBody, modernCall("2", "5")),
		"too many":   batchOf(strings.Split(strings.Repeat(callBody+"\n", maxBatch+1), "\n")[:maxBatch+1]...),
	} {
		if r := s.send(body); r.status != 400 || !strings.Contains(r.body, `{"jsonrpc":"2.0","error":{"code":-32600,`) {
			t.Errorf("%s: got %d %s", name, r.status, r.body)
		}
	}
	newer.send(batchOf(pingBody)).fails(400, codeInvalidRequest, "", "batch")
	s.send(batchOf(pingBody), with("Mcp-Session-Id", "nonsense")).fails(404, codeSessionNotFound, "", "")
	s.send(batchOf(pingBody)[:20]).fails(400, codeParse, "", "")
	if len(p.asks) != 0 {
		t.Error("a server heard of a batch that was refused")
	}
}

// TestFullBatchIsAsked has as many calls as there may be.
func TestFullBatchIsAsked(t *testing.T) {
	w := newWorld(t)
	s := w.connectOld("c1")
	w.provide("c1").echo()
	var calls []string
	for i := range maxBatch {
		calls = append(calls, callWithID(fmt.Sprint(i)))
	}
	r := s.send(batchOf(calls...)).is(200, "")
	elements, err := codec.AppendBatch(nil, []byte(r.body), maxBatch)
	if err != nil || len(elements) != maxBatch {
		t.Fatalf("%d responses, %v", len(elements), err)
	}
	for i, e := range elements {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result"`, i); !strings.HasPrefix(string(e), want) {
			t.Errorf("response %d is %s", i, e)
		}
	}
}

// TestBatchBecomesAStreamOfResponses by the progress of one of its calls.
func TestBatchBecomesAStreamOfResponses(t *testing.T) {
	w := newWorld(t)
	s, p := w.connectOld("c1"), w.provide("c1")
	conn := w.raw("")
	in := bufio.NewReader(conn)
	for range 2 {
		s.postOn(conn, batchOf(pingBody, progressCall("1", `5`), progressCall("2", `"5"`), callWithID("3")))
		a, b, c := p.next(), p.next(), p.next()
		p.result(c, emptyContent)
		w.observed.await(t, "exchange call-tool answered", 1)
		p.notify(progressOf(a.token(t), 1))
		e := w.answered(conn, in).isStream()
		e.event(pong)
		e.event(answerOf("3"))
		e.event(progressOf("5", 1))
		p.notify(progressOf(b.token(t), 2))
		e.event(progressOf(`"5"`, 2))
		p.result(b, emptyContent)
		e.event(answerOf("2"))
		p.notify(progressOf(b.token(t), 3))
		p.notify(progressOf(a.token(t), 4))
		e.event(progressOf("5", 4))
		p.result(a, emptyContent)
		e.event(answerOf("1"))
		e.ends()
		w.observed.reset()
	}
}

// TestA10_CancelsOfABatch come from within it, and from without.
func TestA10_CancelsOfABatch(t *testing.T) {
	w := newWorld(t)
	s, other, p := w.connectOld("c1"), w.connectOld("c1"), w.provide("c1")
	reply := s.start(batchOf(callWithID("1"), callWithID("2"), callWithID("3"), cancelBody("2")))
	other.send(batchOf(cancelBody("1"))).is(202, "")
	var asks [3]heard
	for i := range asks {
		asks[i] = p.next()
	}
	w.observed.await(t, "exchange call-tool cancelled", 1)
	if !p.open(asks[1], nil).Cancelled() {
		t.Error("the second call was not cancelled")
	}
	s.send(batchOf(cancelBody("1"), cancelBody("7"))).is(202, "")
	w.observed.await(t, "exchange call-tool cancelled", 2)
	p.result(asks[2], emptyContent)
	reply.wait(200).is(200, "["+answerOf("3")+"]")

	reply = s.start(batchOf(callWithID("1"), toolsChangedByClient, cancelBody("1")))
	reply.wait(200).isCancelled()
}

// TestBatchUsesAnIDOnce answers each message with an id that is taken by an error.
func TestBatchUsesAnIDOnce(t *testing.T) {
	w := newWorld(t)
	s, p := w.connectOld("c1"), w.provide("c1")
	first := s.start(callWithID("1"))
	a := p.next()
	reply := s.start(batchOf(callWithID("1"), callWithID("2"), callWithID("2")))
	b := p.next()
	p.result(b, `{"content":[2]}`)
	r := reply.wait(200)
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,`, `{"jsonrpc":"2.0","id":2,"result":{"content":[2]}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,`,
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("%s lacks %s", r.body, want)
		}
	}
	p.result(a, `{"content":[1]}`)
	first.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[1]}}`)
	w.observed.await(t, "refused inside duplicate-id", 2)
}

// TestA10_DepartureLeavesABatchBehind has one call answered before.
func TestA10_DepartureLeavesABatchBehind(t *testing.T) {
	w := newWorld(t)
	s, p := w.connectOld("c1"), w.provide("c1")
	reply := s.start(batchOf(callWithID("1"), callWithID("2"), callWithID("3")))
	p.result(p.next(), emptyContent)
	b := p.next()
	w.observed.await(t, "exchange call-tool answered", 1)
	reply.leave()
	w.observed.await(t, "exchange call-tool left", 2)
	if p.open(b, nil).Cancelled() {
		t.Error("the ask counts as cancelled")
	}
}

// TestBatchOfASessionThatEnds tells of each call that it was ended.
func TestBatchOfASessionThatEnds(t *testing.T) {
	w := newWorld(t)
	s, p := w.connectOld("c1"), w.provide("c1")
	reply := s.start(batchOf(callWithID("1"), callWithID("2")))
	p.next()
	p.next()
	s.delete().is(204, "")
	if r := reply.wait(200); strings.Count(r.body, "session was ended") != 2 {
		t.Errorf("got %s", r.body)
	}
}

// TestBatchHeaderOfAnotherRevision is accepted: what was negotiated counts.
func TestBatchHeaderOfAnotherRevision(t *testing.T) {
	w := newWorld(t)
	s := w.connectOld("c1")
	for _, revision := range []string{"", "2025-03-26", "2025-11-25"} {
		s.send(batchOf(pingBody), func(r *http.Request) { r.Header.Set("MCP-Protocol-Version", revision) }).is(200, "["+pong+"]")
	}
}
