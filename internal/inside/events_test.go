package inside

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/stream"
)

const toolsChanged = `{"method":"notifications/tools/list_changed"}`

// versioned is the JSON-RPC message that a notification becomes.
func versioned(n string) string { return `{"jsonrpc":"2.0",` + n[1:] }

func numbered(i int) string { return fmt.Sprintf(`{"method":"notifications/n","params":{"i":%d}}`, i) }

// TestStreamHead reads the head with a comment and no event: other gateways
// withhold it until the first one.
func TestStreamHead(t *testing.T) {
	w := newWorld(t)
	e := w.connect("c1").listen()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	} {
		if got := e.head.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := time.Parse(time.RFC1123, e.head.Header.Get("Date")); err != nil {
		t.Error(err)
	}
}

func TestN7_EverySessionWithAStreamHearsEachNotificationInOrder(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	streams := []*eventStream{s.listen()}
	for range 4 {
		streams = append(streams, w.connect("c1").listen())
	}
	for i := range 200 {
		p.notify(numbered(i))
	}
	for _, e := range streams {
		for i := range 200 {
			e.event(versioned(numbered(i)))
		}
	}
	if got := w.observed.of("unheard " + UnheardNoStream); got != 0 {
		t.Errorf("%d notifications count as unheard", got)
	}
}

func TestN7_AnyNotificationPassesUnchanged(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	e := s.listen()
	for _, n := range []string{
		`{"method":"notifications/message","params":{"level":"info","data":"\u0000 \ud800 é` + "\u2028" + `😀"}}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"method":"x/y","params":{"n":1.0,"n2":9007199254740993},"extra":[1, 2]}`,
	} {
		p.notify(n)
		e.event(versioned(n))
	}
	own := `{"jsonrpc":"2.0","method":"notifications/n"}`
	p.notify(own)
	e.event(own)
}

func TestN7_ProgressReachesNobodyWhoDidNotAsk(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	e := s.listen()
	p.notify(`{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	p.notify(`{"method":"notifications\/progress","params":{"progressToken":1,"progress":2}}`)
	p.notify(toolsChanged)
	e.event(versioned(toolsChanged))
	w.observed.await(t, "unheard "+UnheardProgress, 2)
}

func TestN7_SessionWithoutAStreamMissesWhatItDoesNotHear(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	p.notify(numbered(1))
	w.observed.await(t, "unheard "+UnheardNoStream, 1)
	e := s.listen()
	p.notify(numbered(2))
	e.event(versioned(numbered(2)))
}

func TestN7_NotificationReachesNoOtherContainer(t *testing.T) {
	w := newWorld(t)
	s, other, p, q := w.connect("c1"), w.connect("c2"), w.provide("c1"), w.provide("c2")
	p.exchange(s)
	q.exchange(other)
	e, f := s.listen(), other.listen()
	p.notify(numbered(1))
	q.notify(numbered(2))
	e.event(versioned(numbered(1)))
	f.event(versioned(numbered(2)))
}

// TestN7_NewestStreamTakesOver sends a second GET of a session, which elsewhere
// is refused or brings the server down.
func TestN7_NewestStreamTakesOver(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	first := s.listen()
	second := s.listen()
	p.notify(numbered(1))
	second.event(versioned(numbered(1)))
	if got := w.streams.Closed[stream.CloseReplaced].Load(); got != 1 {
		t.Fatalf("%d streams were replaced", got)
	}
	first.ends()
	// The end of the old one leaves the new one in its place, for the next to take over.
	await(t, "the face and the roster let go of the first", func() bool {
		w.handler.roster.mu.Lock()
		defer w.handler.roster.mu.Unlock()
		only := w.handler.roster.streams.next
		return only.next == &w.handler.roster.streams
	})
	p.notify(numbered(2))
	second.event(versioned(numbered(2)))
	third := s.listen()
	p.notify(numbered(3))
	third.event(versioned(numbered(3)))
	second.ends()
}

// TestN7_AtMostOnceAcrossReplacements reopens the stream again and again while
// notifications come: none is heard twice, and each stream hears a run of them.
func TestN7_AtMostOnceAcrossReplacements(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	done := make(chan struct{})
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				p.notify(numbered(i))
			}
		}
	})
	last := -1
	for range 20 {
		e := s.readHead(w.raw(getHead(s.path, s.token)))
		for range 10 {
			block := e.block()
			if block == ": open" { // notifications may be ahead of it
				continue
			}
			var i int
			if _, err := fmt.Sscanf(block, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/n\",\"params\":{\"i\":%d}}", &i); err != nil {
				t.Error(err)
			}
			if i <= last {
				t.Errorf("heard %d after %d", i, last)
			}
			last = i
		}
	}
	close(done)
	publisher.Wait()
}

// TestN7_ListChangedAndUpdatedMayBeMerged fills a stream that nobody reads; what
// is queued is not queued again.
func TestN7_ListChangedAndUpdatedMayBeMerged(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	e := s.listenOnPipe()
	p.notify(numbered(1)) // being written from now on
	for range 10 {
		p.notify(toolsChanged)
		p.notify(`{"method":"notifications/resources/updated","params":{"uri":"a"}}`)
		p.notify(`{"method":"notifications/resources/updated","params":{"uri":"b"}}`)
	}
	if got := w.streams.Coalesced.Load(); got != 27 {
		t.Errorf("%d were merged, want 27", got)
	}
	e.event(versioned(numbered(1)))
	e.event(versioned(toolsChanged))
	e.event(versioned(`{"method":"notifications/resources/updated","params":{"uri":"a"}}`))
	e.event(versioned(`{"method":"notifications/resources/updated","params":{"uri":"b"}}`))
}

// TestReaderThatNeverReadsStarvesNobody has one client that never reads beside one that does.
func TestReaderThatNeverReadsStarvesNobody(t *testing.T) {
	w := newWorld(t, func(o *options) {
		o.stream = func(c *stream.Config) { c.Stall = 200 * time.Millisecond }
	})
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	s.listenOnPipe() // never read on
	e := w.connect("c1").listen()
	for i := 0; w.streams.Closed[stream.CloseStalled].Load() == 0; i++ {
		p.notify(numbered(i))
		e.event(versioned(numbered(i)))
	}
	await(t, "one stream left", func() bool { return w.streams.Streams.Load() == 1 })
}

func TestD6_EventIsOneLine(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	e := s.listen()
	p.notify("{\r\n  \"method\": \"notifications/n\",\r  \"params\": {\n\t\"a\": \"\\r\\n\"\n}\n}")
	e.event("{\"jsonrpc\":\"2.0\",    \"method\": \"notifications/n\",   \"params\": { \t\"a\": \"\\r\\n\" } }")
}

// TestKeepAlive keeps a silent stream from dying at a load balancer's idle limit.
func TestKeepAlive(t *testing.T) {
	w := newWorld(t, func(o *options) { o.keepAlive = 64 * time.Millisecond })
	e := w.connect("c1").listen()
	for range 3 {
		if got := e.block(); got != ": keepalive" {
			t.Fatalf("got %q", got)
		}
	}
}

// TestKeepAliveWaitsForWhatIsBeingWritten keeps comments from taking the room of
// notifications on a stream that does not keep up.
func TestKeepAliveWaitsForWhatIsBeingWritten(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	s.listenOnPipe() // never read on
	p.notify(numbered(1))
	face := w.mux.Lookup("c1").Sink().(*Face)
	face.mu.Lock()
	var e *events
	for e = range face.streams.all() {
	}
	face.mu.Unlock()
	await(t, "a write that waits", e.flushing.Load)
	queued := w.streams.Queued.Load()
	e.Beat(time.Now())
	if got := w.streams.Queued.Load(); got != queued {
		t.Errorf("a comment was queued behind %d messages", queued)
	}
}

func TestLastEventIDIsIgnored(t *testing.T) {
	newWorld(t).connect("c1").listen("Last-Event-ID: 17")
}

func TestWhatAClientSendsOnItsStreamIsIgnored(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	conn := w.raw(getHead(s.path, s.token) + "early bytes")
	e := s.adopt(conn)
	if _, err := conn.Write([]byte(strings.Repeat("x", 100_000))); err != nil {
		t.Fatal(err)
	}
	p.notify(numbered(1))
	e.event(versioned(numbered(1)))
}

func TestClientThatLeavesItsStreamIsNoticed(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	for i := range 3 {
		e := s.listen()
		if i == 1 {
			if err := e.conn.(*net.TCPConn).SetLinger(0); err != nil {
				t.Fatal(err)
			}
		}
		_ = e.conn.Close()
		await(t, "no stream is open", func() bool {
			return w.streams.Streams.Load() == 0 && w.streams.Closed[stream.CloseLeft].Load() == uint64(i+1)
		})
	}
}

func TestDeleteEndsTheStream(t *testing.T) {
	w := newWorld(t)
	s, other := w.connect("c1"), w.connect("c1")
	e := s.listen()
	other.listen()
	s.delete().is(204, "")
	e.ends()
	await(t, "one stream left", func() bool { return w.streams.Streams.Load() == 1 })
	do(t, s.http, s.request("", method("GET"))).is(404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found: send initialize again, without Mcp-Session-Id"}}`)
}

// TestStreamOfASessionThatEndsMeanwhile opens a stream between the judgement of
// the request and the hand-over of its connection.
func TestStreamOfASessionThatEndsMeanwhile(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	read, ok := w.faces.verify("c1", []byte(s.token))
	if !ok {
		t.Fatal("the session is not valid")
	}
	c := there(w.mux.Enter("c1"))
	c.Sink().(*Face).end(read)
	server, client := net.Pipe()
	defer client.Close()
	go w.handler.stream(sock.Wrap(server), &listening{container: c, session: read})
	body := readAll(t, client)
	if !strings.HasPrefix(body, "HTTP/1.1 404 ") || !strings.HasSuffix(body, `"message":"Session not found: send initialize again, without Mcp-Session-Id"}}`) {
		t.Errorf("got %q", body)
	}
}

// TestStreamWithoutFastWays carries a stream over a connection that is no TCP
// socket: nothing can be written to it without waiting.
func TestStreamWithoutFastWays(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	p.exchange(s)
	e := s.listenOnPipe()
	for i := range 3 {
		p.notify(numbered(i))
		e.event(versioned(numbered(i)))
	}
	_ = e.conn.Close()
	await(t, "the stream's end", func() bool { return w.streams.Streams.Load() == 0 })
}
