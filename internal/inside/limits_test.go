package inside

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

// limited has a world keep to the limits of package mux, and to so many streams.
func limited(l mux.Limits, streams int) func(*options) {
	return func(o *options) { o.limits, o.streams = l, streams }
}

// overLimit checks the refusal of a request that is over a limit. That of a session
// comes on 200: clients have to survive it.
func (r response) overLimit(status int, id string, limit Reason, most int) {
	r.t.Helper()
	r.fails(status, codeInternal, id, fmt.Sprintf("the limit is %d (--%s)", most, limit))
	r.data(fmt.Sprintf(`{"reason":"%s","limit":%d}`, limit, most))
	if got := r.header.Get("Retry-After"); got != "1" {
		r.t.Errorf("Retry-After is %q", got)
	}
}

func (w *world) refusals(limit Reason) int { return w.observed.of("refused inside " + string(limit)) }

func TestEveryLimitOfTheMuxHasItsRefusal(t *testing.T) {
	for l := range mux.Limit(mux.LimitCount) {
		if r := refusalFor(Reason(l.String())); !r.passing() {
			t.Errorf("%v is refused with %d, after which nobody tries again", l, r.status)
		}
	}
}

func TestAsksInFlightOfAContainerAreLimited(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{Asks: 2}, 0))
	s, p := w.connect("c1"), w.provide("c1")
	first := s.start(callWithID("1"))
	one := p.next()
	second := w.sends(w.modernCall("2")) // of whatever era
	two := p.next()
	s.send(callWithID("3")).overLimit(200, "3", ReasonMaxAsks, 2)
	do(t, s.http, w.modernCall(`"m"`)).overLimit(429, `"m"`, ReasonMaxAsks, 2)
	s.send(pingBody).is(200, pong) // which nobody has to be asked for
	other, q := w.connect("c2"), w.provide("c2")
	reply := other.start(callWithID("1"))
	q.result(q.next(), emptyContent)
	reply.wait(200)
	p.result(one, emptyContent)
	first.wait(200)
	// The id of a refused request is free.
	third := s.start(callWithID("3"))
	p.result(p.next(), emptyContent)
	p.result(two, emptyContent)
	third.wait(200)
	second.wait(200)
	if n := w.refusals(ReasonMaxAsks); n != 2 {
		t.Errorf("%d refusals were counted, want 2", n)
	}
}

func TestAsksThatWaitForAServerAreLimited(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{Asks: 2, Waiting: 1}, 0))
	s := w.connect("c1")
	waits := s.start(callWithID("1"))
	await(t, "the call waits", func() bool { return w.mux.Stats().Waiting == 1 })
	r := s.send(callWithID("2"))
	r.overLimit(200, "2", ReasonMaxWaiting, 1)
	r.fails(200, codeInternal, "2", "no server is there")
	p := w.provide("c1")
	p.result(p.next(), emptyContent)
	waits.wait(200)
}

func TestAsksInAllAreLimited(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{AsksTotal: 1}, 0))
	a, b, p := w.connect("c1"), w.connect("c2"), w.provide("c1")
	reply := a.start(callWithID("1"))
	ask := p.next()
	b.send(callWithID("1")).overLimit(200, "1", ReasonMaxAsksTotal, 1)
	do(t, b.http, w.modernCall("1")).overLimit(503, "1", ReasonMaxAsksTotal, 1)
	p.result(ask, emptyContent)
	reply.wait(200)
}

// TestABatchIsRefusedMessageByMessage answers those that are within the limit.
func TestABatchIsRefusedMessageByMessage(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{Asks: 2}, 0))
	s, p := w.connectOld("c1"), w.provide("c1")
	reply := s.start(batchOf(callWithID("1"), callWithID("2"), callWithID("3"), pingBody, callWithID("4")))
	one, two := p.next(), p.next()
	w.observed.await(t, "refused inside max-asks", 2)
	p.result(one, emptyContent)
	p.result(two, emptyContent)
	r := reply.wait(200)
	for _, want := range []string{answerOf("1"), answerOf("2"), pong,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32603,`} {
		if !strings.Contains(r.body, want) {
			t.Errorf("%s is not in %s", want, r.body)
		}
	}
	if n := strings.Count(r.body, `"data":{"reason":"max-asks","limit":2}`); n != 2 || w.refusals(ReasonMaxAsks) != 2 {
		t.Errorf("%d errors name the limit, %d were counted, want 2 of each: %s", n, w.refusals(ReasonMaxAsks), r.body)
	}
}

// TestARefusedAskThatWasCancelledMeanwhileHarmsNobody has news for calls that were
// never asked: it is not taken for that of others which have their place in the pool.
func TestARefusedAskThatWasCancelledMeanwhileHarmsNobody(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{Asks: 1}, 0))
	s, p := w.connectOld("c1"), w.provide("c1")
	held := s.start(callWithID("0"))
	ask := p.next()
	other := w.connect("c2")
	w.provide("c2").echo()
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
	for range 100 {
		first, second := s.start(cancel), s.start(cancel)
		reply := s.start(batchOf(callWithID("1"), callWithID("2"), callWithID("3")))
		other.send(callWithID("2")).is(200, "")
		if r := reply.wait(200); strings.Count(r.body, `"reason":"max-asks"`) != 3 {
			t.Fatalf("got %s", r.body)
		}
		first.wait(202)
		second.wait(202)
	}
	p.result(ask, emptyContent)
	held.wait(200)
}

func TestANewContainerOverTheLimitIsRefused(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{Containers: 1}, 0))
	s, p := w.connect("c1"), w.provide("c1")
	do(t, s.http, w.post("/containers/c2/mcp", initializeBody)).overLimit(503, "0", ReasonMaxContainers, 1)
	do(t, s.http, w.modernCall("1", func(r *http.Request) { r.URL.Path = "/containers/c2/mcp" })).overLimit(503, "1", ReasonMaxContainers, 1)
	token, _ := w.faces.mint("c2", newest) // of a session whose container was forgotten
	c2 := &mcpSession{w: w, http: s.http, path: "/containers/c2/mcp", token: token}
	c2.send(pingBody).overLimit(200, "7", ReasonMaxContainers, 1)
	c2.send(toolsChangedByClient).overLimit(503, "", ReasonMaxContainers, 1)
	do(t, s.http, c2.request("", method(http.MethodGet))).overLimit(503, "", ReasonMaxContainers, 1)
	conn := w.raw(strings.ReplaceAll(subscribeRequest("5", `"toolsListChanged":true`), "/c1/", "/c2/"))
	w.readResponse(bufio.NewReader(conn), "POST").overLimit(503, "5", ReasonMaxContainers, 1)
	reply := s.start(callWithID("1")) // what is there goes on
	p.result(p.next(), emptyContent)
	reply.wait(200)
	w.connect("c1")
	if w.mux.Lookup("c2") != nil || w.refusals(ReasonMaxContainers) != 6 {
		t.Errorf("c2 is there, or %d refusals were counted", w.refusals(ReasonMaxContainers))
	}
}

// TestASessionOutlivesThatItsContainerMadeRoom is what a client sees of it: nothing.
func TestASessionOutlivesThatItsContainerMadeRoom(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{Containers: 1}, 0))
	a := w.connect("c1")
	ended := w.connect("c1")
	ended.delete().is(204, "")
	w.idling.pass(2 * time.Second)
	b := w.connect("c2")
	if w.mux.Lookup("c1") != nil {
		t.Fatal("c1 made no room")
	}
	w.idling.pass(2 * time.Second)
	a.send(pingBody).is(200, pong)
	w.idling.pass(2 * time.Second)
	b.send(pingBody).is(200, pong)
	ended.send(pingBody).is(404, "")
}

// getsTooMany sends a request for a stream that is refused.
func (w *world) getsTooMany(request, method, id string, most int) response {
	w.t.Helper()
	r := w.readResponse(bufio.NewReader(w.raw(request)), method)
	r.overLimit(429, id, ReasonMaxStreams, most)
	if !r.closes {
		w.t.Error("the connection of a refused stream is kept")
	}
	return r
}

func TestEventStreamsOfAContainerAreLimited(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{}, 2), func(o *options) { o.origins = []string{"https://app.example.com"} })
	a, b := w.connect("c1"), w.connect("c1")
	own := a.listen()
	subscribed := w.subscribe("1", `"toolsListChanged":true`, `"toolsListChanged":true`)
	r := w.getsTooMany(getHead(b.path, b.token, "Origin: https://app.example.com"), "GET", "", 2)
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "https://app.example.com" {
		t.Errorf("the page may not read the refusal: %q", got)
	}
	w.getsTooMany(subscribeRequest(`"s"`, `"toolsListChanged":true`), "POST", `"s"`, 2)
	w.connect("c2").listen() // another container has its own
	// A newer stream of a session takes the place of the one it has.
	newer := a.listen()
	own.ends()
	_ = subscribed.conn.Close()
	await(t, "the subscription ended", func() bool { return w.mux.Lookup("c1").Sink().(*Face).Streams() == 1 })
	b.listen()
	_ = newer.conn.Close()
	if n := w.refusals(ReasonMaxStreams); n != 2 {
		t.Errorf("%d refusals were counted", n)
	}
}

// TestOverTheLimitOfStreamsAResponseStaysJSON has a request whose answer would be a
// stream be answered all the same: it only hears no progress.
func TestOverTheLimitOfStreamsAResponseStaysJSON(t *testing.T) {
	for name, after := range map[string]time.Duration{"soon": time.Millisecond, "at once": 0, "with progress": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, limited(mux.Limits{}, 1), func(o *options) { o.sseAfter, o.keepAlive = after, time.Millisecond })
			s, p := w.connect("c1"), w.provide("c1")
			s.listen()
			reply := s.start(progressCall("1", "7"))
			ask := p.next()
			p.notify(progressOf(ask.token(t), 1))
			w.observed.await(t, "refused inside max-streams", 1)
			w.observed.await(t, "unheard full", 1)
			p.notify(progressOf(ask.token(t), 2))
			w.observed.await(t, "unheard full", 2)
			p.result(ask, emptyContent)
			if r := reply.wait(200).is(200, answerOf("1")); r.header.Get("Content-Type") != mediaJSON {
				t.Errorf("the response is of type %s", r.header.Get("Content-Type"))
			}
			if n := w.refusals(ReasonMaxStreams); n != 1 {
				t.Errorf("one response was counted %d times", n)
			}
		})
	}
}

func TestAResponseThatIsAStreamIsCountedUntilItIsOver(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{}, 1), func(o *options) { o.sseAfter = 0 })
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(callWithID("1"))
	ask := p.next()
	face := w.mux.Lookup("c1").Sink().(*Face)
	await(t, "the response is a stream", func() bool { return face.Streams() == 1 })
	w.getsTooMany(getHead(s.path, s.token), "GET", "", 1)
	p.result(ask, emptyContent)
	reply.wait(200)
	await(t, "it is over", func() bool { return face.Streams() == 0 })
	s.listen()
}

// TestEveryCountIsBackAtZero has clients do all that is counted, in any order, and
// leave in any way.
func TestEveryCountIsBackAtZero(t *testing.T) {
	w := newWorld(t, limited(mux.Limits{Asks: 4, Waiting: 2, AsksTotal: 6, Containers: 3}, 2),
		func(o *options) { o.sseAfter = time.Millisecond })
	const clients, rounds = 6, 40
	done := make(chan struct{}, clients)
	for i := range clients {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := range rounds {
				w.misbehave(fmt.Sprint("c", (i+n)%4), n)
			}
		}()
	}
	for i := range clients * rounds / 4 { // servers come and go
		claim, err := w.mux.Claim(fmt.Sprint("c", i%4))
		if err != nil {
			continue
		}
		p := &provider{t: t, mux: w.mux, container: claim.Container().ID(), claim: claim, asks: make(chan heard, 4096)}
		claim.Attach(p)
		select {
		case a := <-p.asks:
			if path, err := w.mux.Open(p.container, a.kind, a.channel, make(unserved, 1)); err == nil {
				path.Broke()
			}
		default:
		}
		claim.Detach()
	}
	for range clients {
		<-done
	}
	await(t, "nobody is left", func() bool {
		zero := true
		w.mux.Each(func(c *mux.Container) {
			inFlight, waiting := c.Asks()
			zero = zero && inFlight == 0 && waiting == 0 && c.Sink().(*Face).Streams() == 0
		})
		s := w.mux.Stats()
		return zero && s.Waiting+s.Announced+s.Open == 0
	})
	t.Logf("refused: %d asks, %d waiting, %d in all, %d streams, %d containers", w.refusals(ReasonMaxAsks), w.refusals(ReasonMaxWaiting),
		w.refusals(ReasonMaxAsksTotal), w.refusals(ReasonMaxStreams), w.refusals(ReasonMaxContainers))
}

// misbehave makes one request, and leaves it sooner or later.
func (w *world) misbehave(container string, n int) {
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer conn.Close()
	path := "/containers/" + container + "/mcp"
	token, _ := w.faces.mint(container, newest)
	request := getHead(path, token)
	switch n % 3 {
	case 0:
		request = strings.ReplaceAll(subscribeRequest("1", `"toolsListChanged":true`), "/c1/", "/"+container+"/")
	case 1:
		body := progressCall("1", "7")
		request = postHead(path, token, fmt.Sprintf("Content-Length: %d", len(body))) + body
	}
	if _, err := io.WriteString(conn, request); err != nil {
		w.t.Error(err)
		return
	}
	if rand.IntN(3) > 0 {
		_ = conn.SetReadDeadline(time.Now().Add(time.Duration(rand.IntN(10)) * time.Millisecond))
		_, _ = conn.Read(make([]byte, 512)) // of whatever comes
	}
}
