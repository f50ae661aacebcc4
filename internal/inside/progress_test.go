package inside

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/stream"
)

// TestN7_ProgressReachesTheRequestThatAskedForItOnly has two sessions of one
// container use the same token at the same time, and one more listen to events.
func TestN7_ProgressReachesTheRequestThatAskedForItOnly(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	listener := w.connect("c1").listen()
	tokens := []string{`1`, `1`, `"1"`, `0`, `""`, `-7`, `9007199254740993`, `"a\"é\u0000"`, `"1"`}
	conns, asks := make([]net.Conn, len(tokens)), make([]heard, len(tokens))
	wire := make(map[string]bool)
	for i, token := range tokens {
		conns[i] = w.raw("")
		w.connect("c1").postOn(conns[i], progressCall("1", token))
		asks[i] = p.next()
		if got, err := strconv.ParseUint(asks[i].token(t), 10, 53); err != nil || wire[asks[i].token(t)] {
			t.Errorf("token %d on the wire, after %v: %v", got, wire, err)
		}
		wire[asks[i].token(t)] = true
	}
	for n := range 3 {
		for i := range tokens {
			p.notify(progressOf(asks[i].token(t), 10*i+n))
		}
	}
	for i, token := range tokens {
		e := w.answered(conns[i], bufio.NewReader(conns[i])).isStream()
		for n := range 3 {
			e.event(progressOf(token, 10*i+n))
		}
		p.result(asks[i], emptyContent)
		e.event(answerOf("1"))
		e.ends()
		p.notify(progressOf(asks[i].token(t), 99))
	}
	p.notify(progressOf(`1`, 99))
	p.notify(progressOf(`"1"`, 99))
	p.notify(`{"method":"notifications/progress"}`)
	w.observed.await(t, "unheard "+UnheardProgress, len(tokens)+3)
	p.notify(toolsChanged)
	listener.event(strings.Replace(toolsChanged, "{", `{"jsonrpc":"2.0",`, 1))
	face := w.mux.Lookup("c1").Sink().(*Face)
	if face.tokens.listeners != nil {
		t.Errorf("%d tokens are kept", len(face.tokens.listeners))
	}
}

// TestProgressKeepsItsOrder has 1,000 notifications come before their answer, to a
// client that reads as they come.
func TestProgressKeepsItsOrder(t *testing.T) {
	const events = 1000
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn := w.raw("")
	s.postOn(conn, progressCall("1", "5"))
	a := p.next()
	p.notify(progressOf(a.token(t), 0))
	e := w.answered(conn, bufio.NewReader(conn)).isStream()
	read := make(chan int, events)
	go func() {
		defer close(read)
		for n := range events {
			e.event(progressOf("5", n))
			read <- n
		}
	}()
	for n := 1; n < events; n++ {
		if n > maxProgress/2 {
			<-read
		}
		p.notify(progressOf(a.token(t), n))
	}
	p.result(a, emptyContent)
	for range read {
	}
	e.event(answerOf("1"))
	e.ends()
	if n := w.observed.of("unheard " + UnheardFull); n != 0 {
		t.Errorf("%d were lost", n)
	}
}

// drainer is the socket of a notifications path from which a notification has
// been read in part.
type drainer struct {
	unserved
	asked   chan struct{}
	drained atomic.Bool
}

func (d *drainer) Drained() bool {
	select {
	case d.asked <- struct{}{}:
	default:
	}
	return d.drained.Load()
}

// push opens the container's notifications path on a socket.
func (p *provider) pushOn(d *drainer) {
	p.t.Helper()
	var err error
	if p.push, err = p.mux.Open(p.container, codec.Notifications, (<-p.asks).channel, d); err != nil {
		p.t.Fatal(err)
	}
}

// TestAnswerWaitsForTheProgressBeforeIt has the last progress be read after the
// answer came.
func TestAnswerWaitsForTheProgressBeforeIt(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	d := &drainer{asked: make(chan struct{}, 1)}
	for range 10 {
		conn := w.raw("")
		s.postOn(conn, progressCall("1", "5"))
		a := <-p.asks
		if p.push == nil {
			p.pushOn(d)
		}
		d.drained.Store(false)
		go func() {
			<-d.asked // by who has the answer
			p.notify(progressOf(a.token(t), 1))
			d.drained.Store(true)
		}()
		p.result(a, emptyContent)
		e := w.answered(conn, bufio.NewReader(conn)).isStream()
		e.event(progressOf("5", 1))
		e.event(answerOf("1"))
		e.ends()
	}
}

// TestAnswerWaitsForNobodyForLong has the notifications path never be drained.
func TestAnswerWaitsForNobodyForLong(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(progressCall("1", "5"))
	a := <-p.asks
	p.pushOn(&drainer{})
	p.result(a, emptyContent)
	reply.wait(200).is(200, answerOf("1"))
}

// TestProgressThatKeepsComingHoldsNoAnswerUp has progress come at every look at a
// path that is never drained, until none comes any more.
func TestProgressThatKeepsComingHoldsNoAnswerUp(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	d := &drainer{asked: make(chan struct{}, 1)}
	reply := s.start(progressCall("1", "5"))
	a := <-p.asks
	p.pushOn(d)
	const looks = 24 // doubling that often makes a day of what the first wait is
	var pushed sync.WaitGroup
	pushed.Go(func() {
		for n := range looks {
			<-d.asked
			p.notify(progressOf(a.token(t), n))
		}
	})
	p.result(a, emptyContent)
	pushed.Wait()
	if got := reply.wait(200).body; !strings.HasSuffix(got, "data: "+answerOf("1")+"\n\n") {
		t.Errorf("got %q", got)
	}
}

// TestOldestProgressIsLost fills a queue by number and by size.
func TestOldestProgressIsLost(t *testing.T) {
	for _, c := range []struct{ size, fit int }{{1, maxProgress}, {1 << 16, 16}, {maxProgressBytes, 1}, {maxProgressBytes - 1, 1}} {
		q := newQueue()
		l := q.listener(nil, nil)
		event := func(n int) []byte {
			b := make([]byte, c.size)
			b[0] = byte(n)
			return b
		}
		const more = 10
		lost := 0
		for n := range c.fit + more {
			taken, dropped := q.put(l, event(n))
			if lost += dropped; !taken {
				t.Fatalf("%d bytes: not taken", c.size)
			}
		}
		if lost != more || q.bytes > maxProgressBytes || len(q.events) != c.fit {
			t.Errorf("%d bytes: %d were lost, %d wait of %d bytes", c.size, lost, len(q.events), q.bytes)
		}
		for n := range c.fit {
			if got := q.take(); got[0] != byte(n+more) {
				t.Fatalf("%d bytes: got %d, want %d", c.size, got[0], byte(n+more))
			}
		}
		if q.take() != nil || q.bytes != 0 {
			t.Errorf("%d bytes: something is left", c.size)
		}
		q.leave(l)
		if taken, _ := q.put(l, event(0)); taken || q.take() != nil {
			t.Errorf("%d bytes: taken for a call that is over", c.size)
		}
	}
}

// stalled is a call of a client that reads nothing, whose connection takes nothing
// more: it was flooded with progress.
func (s *mcpSession) stalled(p *provider, body string, lines ...string) (net.Conn, heard) {
	s.w.t.Helper()
	conn := s.w.raw("")
	s.postOn(conn, body, lines...)
	a := p.next()
	p.flood(a)
	return conn, a
}

// flood sends progress until much of it in a row is lost, or its call is over.
func (p *provider) flood(a heard) {
	p.t.Helper()
	face := p.mux.Lookup(p.container).Sink().(*Face)
	observed := face.faces.observer.(*counts)
	big := strings.Replace(progressOf(a.token(p.t), 1), `"progress"`, `"message":"`+strings.Repeat("x", 32<<10)+`","progress"`, 1)
	for row, before := 0, 0; row < 100 && observed.of("unheard "+UnheardProgress) == 0; runtime.Gosched() {
		p.notify(big)
		lost := observed.of("unheard " + UnheardFull)
		if row++; lost == before {
			row = 0
		}
		before = lost
	}
}

// TestClientThatReadsNothingHarmsNobody floods one client with progress that it
// does not read. Others are answered, and it is given up.
func TestClientThatReadsNothingHarmsNobody(t *testing.T) {
	w := newWorld(t, func(o *options) { o.stream = func(c *stream.Config) { c.Stall = time.Second } })
	s, other, p := w.connect("c1"), w.connect("c1"), w.provide("c1")
	s.postOn(w.raw(""), progressCall("1", "5"))
	a := p.next()
	q := w.only("c1").reply.queue
	p.flood(a)
	q.mu.Lock()
	if len(q.events) > maxProgress || q.bytes > maxProgressBytes {
		t.Errorf("%d events of %d bytes wait", len(q.events), q.bytes)
	}
	q.mu.Unlock()
	for range 10 {
		conn := w.raw("")
		other.postOn(conn, progressCall("1", "5"))
		b := p.next()
		p.notify(progressOf(b.token(t), 1))
		p.result(b, emptyContent)
		e := w.answered(conn, bufio.NewReader(conn)).isStream()
		e.event(progressOf("5", 1))
		e.event(answerOf("1"))
	}
	for late := time.Now().Add(patience); w.observed.of("exchange call-tool left") == 0; p.notify(progressOf(a.token(t), 1)) {
		if time.Now().After(late) {
			t.Fatal("it was not given up")
		}
	}
	path := p.open(a, nil)
	if path.Cancelled() {
		t.Error("the ask of a client that stalled counts as cancelled")
	}
	path.Closed(nil)
	// A big progress is none for anybody.
	reply := s.start(progressCall("1", "5"))
	b := p.next()
	before := w.observed.of("unheard " + UnheardFull)
	p.notify(strings.Replace(progressOf(b.token(t), 1), "{", `{"x":"`+strings.Repeat("x", maxProgressBytes)+`",`, 1))
	w.observed.await(t, "unheard "+UnheardFull, before+1)
	p.result(b, emptyContent)
	reply.wait(200).is(200, answerOf("1"))
}

// TestA10_CancelReachesTheServerOfAClientThatReadsNothing goes past a write that
// waits for the client; which, when it reads again, finds its stream whole.
func TestA10_CancelReachesTheServerOfAClientThatReadsNothing(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn, a := s.stalled(p, progressCall("1", "5"))
	closed := make(unserved)
	p.open(a, closed)
	s.send(cancelBody("1")).is(202, "")
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the server was not told")
	}
	in := bufio.NewReader(conn)
	e := w.answered(conn, in).isStream()
	rest, err := io.ReadAll(e.in)
	if err != nil {
		t.Fatalf("after %d bytes: %v", len(rest), err)
	}
	for block := range bytes.SplitSeq(bytes.TrimSuffix(rest, []byte("\n\n")), []byte("\n\n")) {
		if !bytes.HasPrefix(block, []byte("event: message\ndata: {")) || !bytes.HasSuffix(block, []byte("}")) || bytes.Count(block, []byte("\n")) != 1 {
			t.Fatalf("got a block of %d bytes: %.50q...", len(block), block)
		}
	}
	w.observed.await(t, "exchange call-tool cancelled", 1)
	s.postOn(conn, pingBody)
	w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
}

// TestAnswerIsNeverLostToProgress has a client read on late: what is lost is the
// oldest progress, and nothing else.
func TestAnswerIsNeverLostToProgress(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn, a := s.stalled(p, progressCall("1", "5"))
	p.notify(progressOf(a.token(t), 77))
	p.result(a, `{"content":["`+strings.Repeat("x", 3<<20)+`"]}`)
	e := w.answered(conn, bufio.NewReader(conn)).isStream()
	var last, block string
	for !strings.Contains(block, `"result"`) {
		last, block = block, e.block()
	}
	if want := "event: message\ndata: " + progressOf("5", 77); last != want {
		t.Errorf("before the answer came %.100q, want %q", last, want)
	}
	if len(block) < 3<<20 {
		t.Errorf("the answer has %d bytes", len(block))
	}
	e.ends()
}

// TestTokensAreMadeAndForgotten counts up from a random start.
func TestTokensAreMadeAndForgotten(t *testing.T) {
	var a, b tokens
	first := string(a.mint())
	if n, err := strconv.ParseInt(first, 10, 64); err != nil || n < 1 || n > firstTokens {
		t.Errorf("the first token is %s", first)
	} else if got := string(a.mint()); got != fmt.Sprint(n+1) {
		t.Errorf("%s is followed by %s", first, got)
	}
	if second := string(b.mint()); second == first {
		t.Errorf("two containers begin with %s", first)
	}
	l := &listener{wire: []byte("5")}
	a.listen(l)
	n, err := codec.ParseNotification([]byte(progressOf("5", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if a.find(n) != l || b.find(n) != nil {
		t.Error("a token names the wrong call")
	}
	a.forget(l)
	if a.find(n) != nil {
		t.Error("a token names a call that is over")
	}
}
