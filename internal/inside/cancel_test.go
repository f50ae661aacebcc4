package inside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

const callBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`

func cancelBody(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"r"}}`
}

// isCancelled checks for the response of a cancelled request: an event stream
// without an event.
func (r response) isCancelled() {
	r.t.Helper()
	if r.status != 200 || r.body != "" || r.header.Get("Content-Type") != "text/event-stream" {
		r.t.Errorf("got %d %q of type %q", r.status, r.body, r.header.Get("Content-Type"))
	}
}

func TestA10_CancelEndsTheRequestWithAnEmptyStream(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	for _, id := range []string{`1`, `"a"`, `""`, `0`} {
		reply := s.start(strings.Replace(callBody, `"id":1`, `"id":`+id, 1))
		p.next()
		s.send(cancelBody(id)).is(202, "")
		reply.wait(200).isCancelled()
	}
	w.observed.await(t, "exchange call-tool cancelled", 4)
}

func TestA10_CancelMeansTheSameStringHoweverEscaped(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(strings.Replace(callBody, `"id":1`, `"id":"a/b"`, 1))
	p.next()
	s.send(cancelBody(`"\u0061\/b"`)).is(202, "")
	reply.wait(200).isCancelled()
}

func TestA10_CancelClosesTheOpenPathWithoutAMessage(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(callBody)
	closed := make(unserved)
	p.open(p.next(), closed)
	s.send(cancelBody(`1`)).is(202, "")
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the path was not closed")
	}
	reply.wait(200).isCancelled()
}

func TestA10_PathOpenedAfterACancelIsToBeClosedAtOnce(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(callBody)
	a := p.next()
	s.send(cancelBody(`1`)).is(202, "")
	reply.wait(200).isCancelled()
	if !p.open(a, nil).Cancelled() {
		t.Error("the path does not know that its ask was cancelled")
	}
}

func TestA10_CancelOfAWaitingAskWithdrawsIt(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	reply := s.start(callBody)
	awaitWaiting(t, w.mux, 1)
	s.send(cancelBody(`1`)).is(202, "")
	reply.wait(200).isCancelled()
	awaitWaiting(t, w.mux, 0)
}

// TestA10_CancelReachesNoOtherSession has two sessions of one container use the
// same id: other gateways let one client's cancel hit another's call.
func TestA10_CancelReachesNoOtherSession(t *testing.T) {
	w := newWorld(t)
	s, other, stranger, p := w.connect("c1"), w.connect("c1"), w.connect("c2"), w.provide("c1")
	reply := s.start(callBody)
	a := p.next()
	other.send(cancelBody(`1`)).is(202, "")
	stranger.send(cancelBody(`1`)).is(202, "")
	s.send(cancelBody(`"1"`)).is(202, "")
	s.send(cancelBody(`2`)).is(202, "")
	p.result(a, `{"content":[]}`)
	reply.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
}

// TestA10_DepartedCallerLeavesItsAsk ends the connection of a waiting request:
// the ask stays answerable, and its answer is dropped.
func TestA10_DepartedCallerLeavesItsAsk(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	for i, depart := range []func(net.Conn){func(c net.Conn) { _ = c.Close() }, func(c net.Conn) { reset(t, c) }} {
		conn := w.raw(postHead("/containers/c1/mcp", s.token, fmt.Sprintf("Content-Length: %d", len(callBody))) + callBody)
		a := p.next()
		depart(conn)
		w.observed.await(t, "exchange call-tool left", i+1)
		path := p.open(a, nil)
		if path.Cancelled() {
			t.Error("the ask of a caller that merely left counts as cancelled")
		}
		path.Arrived()
		path.Closed(codec.AppendResult(nil, []byte(`{"content":[]}`)))
		if got := w.mux.Stats().DroppedAnswers; got != int64(i+1) {
			t.Errorf("%d answers were dropped, want %d", got, i+1)
		}
	}
	// The same id is free again, and the gateway still answers.
	reply := s.start(callBody)
	p.result(p.next(), `{"content":[]}`)
	reply.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
}

// TestDepartureIsNotTakenForCancellation keeps a session's other calls alive
// when one of its connections ends.
func TestDepartureIsNotTakenForCancellation(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	left := s.start(callBody)
	p.next()
	kept := s.start(strings.Replace(callBody, `"id":1`, `"id":2`, 1))
	b := p.next()
	left.leave()
	w.observed.await(t, "exchange call-tool left", 1)
	p.result(b, `{"content":[]}`)
	kept.wait(200).is(200, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
}

func TestDeleteLeavesTheSessionsCallsBehind(t *testing.T) {
	w := newWorld(t)
	s, other, p := w.connect("c1"), w.connect("c1"), w.provide("c1")
	reply := s.start(callBody)
	a := p.next()
	kept := other.start(callBody)
	b := p.next()
	s.delete().is(204, "")
	reply.wait(200).fails(200, -32603, "1", "session was ended")
	w.observed.await(t, "exchange call-tool left", 1)
	if p.open(a, nil).Cancelled() {
		t.Error("the ask counts as cancelled")
	}
	p.result(b, `{"content":[]}`)
	kept.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
}

// TestCallOfASessionThatEndsMeanwhile ends the session between the judgement of
// the request and its call.
func TestCallOfASessionThatEndsMeanwhile(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	read, ok := w.faces.verify("c1", []byte(s.token))
	if !ok {
		t.Fatal("the session is not valid")
	}
	face := w.mux.Lookup("c1").Sink().(*Face)
	face.end(read)
	if got := face.begin(&call{key: keyOf(read.id, []byte("1"))}); got != ReasonUnknownSession {
		t.Errorf("the call was refused with %q, want %q", got, ReasonUnknownSession)
	}
}

// TestCancelDuringTheAnswerWaitsForIt has a caller stop waiting when its answer
// is being written: the call must not be reused before that is done.
func TestCancelDuringTheAnswerWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDeafWorld(t)
		defer w.stop()
		w.mux.Stop()
		r := w.reply(nil)
		c := r.dummy()
		c.ask = asked(r.container.Ask(codec.ListTools, nil, w.reply(nil).dummy())) // is settled
		c.tell(callCancelled)
		waited := make(chan struct{})
		go func() { defer close(waited); r.wait() }()
		synctest.Wait()
		select {
		case <-waited:
			t.Fatal("did not wait for the answer")
		default:
		}
		c.Settle(mux.Settlement{Outcome: mux.NotServed})
		<-waited
		if c.outcome != mux.NotServed || r.outs[0] == nil {
			t.Errorf("ended with %v, want %v", c.outcome, mux.NotServed)
		}
	})
}

// TestLateCancelDoesNotReachTheNextCall cancels a call that has its answer already.
func TestLateCancelDoesNotReachTheNextCall(t *testing.T) {
	w := newWorld(t)
	r := w.handler.takeReply(w.exchange(nil), there(w.mux.Container("c1")))
	c := r.dummy()
	c.over = true
	c.tell(callCancelled)
	r.done = true
	r.release()
	if len(r.news) != 0 || c.told {
		t.Error("the next call that uses it is told of the cancel")
	}
}

// TestPipelinedRequestsAreAnsweredInOrder sends three requests in one write.
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	w.provide("c1").echo()
	var all strings.Builder
	for i := range 3 {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
		all.WriteString(postHead("/containers/c1/mcp", s.token, fmt.Sprintf("Content-Length: %d", len(body))) + body)
	}
	conn := w.raw(all.String())
	in := bufio.NewReader(conn)
	for i := range 3 {
		if r := w.readResponse(in, "POST").is(200, ""); !strings.HasPrefix(r.body, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result"`, i)) {
			t.Errorf("response %d is %s", i, r.body)
		}
	}
}

// TestAbortedUploadsHarmNobody has clients abort anywhere: elsewhere that kills the process.
func TestAbortedUploadsHarmNobody(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	whole := postHead("/containers/c1/mcp", s.token, fmt.Sprintf("Content-Length: %d", len(pingBody))) + pingBody
	for cut := 0; cut < len(whole); cut += 7 {
		conn := w.raw(whole[:cut])
		if cut%2 == 0 {
			if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
	}
	s.send(pingBody).is(200, "")
	if n := w.observed.of("panicked " + PanicRequest); n != 0 {
		t.Errorf("%d panics", n)
	}
}

// TestShutdownThatIsCutShort does not stop the mux: the waiting call is cut when
// the context ends, and noticed to have gone.
func TestShutdownThatIsCutShort(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(callBody)
	p.next()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.handler.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := <-reply.failed; err == nil {
		t.Error("the cut request succeeded")
	}
	w.observed.await(t, "exchange call-tool left", 1)
	if err := w.handler.Serve(nopListener{}); !errors.Is(err, ErrStopped) {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

type nopListener struct{ net.Listener }

func (nopListener) Close() error { return nil }

// TestShutdownCutsWhoDoesNotTakeItsResponse, and ends well all the same.
func TestShutdownCutsWhoDoesNotTakeItsResponse(t *testing.T) {
	w := newWorld(t, func(o *options) { o.pace.cut = 50 * time.Millisecond })
	s, p := w.connect("c1"), w.provide("c1")
	conn := w.raw("")
	s.postOn(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	p.result(p.next(), `{"content":[],"pad":"`+strings.Repeat("x", 32<<20)+`"}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.handler.Shutdown(ctx); err != nil {
		t.Errorf("the shutdown failed: %v", err)
	}
	if body, err := io.ReadAll(conn); err == nil && strings.HasSuffix(string(body), "}}") {
		t.Error("the response arrived whole, so that nobody was cut")
	}
}

func TestShutdownSettlesEverything(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(callBody)
	p.next()
	events := s.listen()
	arrived := func() int {
		w.handler.roster.mu.Lock()
		defer w.handler.roster.mu.Unlock()
		return len(w.handler.roster.conns)
	}
	before := arrived()
	silent := w.raw("")
	partial := w.raw("POST /mcp HTTP/1.1\r\nHost: g\r\nContent-Length: 10\r\n")
	await(t, "both connections to be accepted", func() bool { return arrived() == before+2 })
	w.stop()
	reply.wait(200).fails(200, -32603, "1", "shutting down")
	events.ends()
	for _, conn := range []net.Conn{silent, partial} {
		// In order or by a reset: what was sent may not have been read yet.
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection outlived the shutdown")
		}
	}
	if got := w.streams.Streams.Load(); got != 0 {
		t.Errorf("%d streams are open", got)
	}
}
