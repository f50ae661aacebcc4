package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/stream"
)

const (
	resourcesChanged = `{"method":"notifications/resources/list_changed"}`
	toolsTopic       = `"toolsListChanged":true`
	resourcesTopic   = `"resourcesListChanged":true`
)

func subscribed(id string) string {
	return `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id
}

func acknowledged(id, honoured string) string {
	return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + subscribed(id) + `},"notifications":{` + honoured + `}}}`
}

func over(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete",` + subscribed(id) +
		`,"io.modelcontextprotocol/serverInfo":` + ourInfo + `}}}`
}

func changed(what, id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/` + what + `/list_changed","params":{` + subscribed(id) + `}}}`
}

// subscribeHead is a subscriptions/listen as it goes over the wire.
func subscribeRequest(id, notifications string, extra ...string) string {
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{` + modernKey + `,"notifications":{` + notifications + `}}}`
	return postHead("/containers/c1/mcp", "", append([]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen",
		fmt.Sprintf("Content-Length: %d", len(body))}, extra...)...) + body
}

// subscribe opens a subscription and reads its acknowledgement.
func (w *world) subscribe(id, asked, honoured string) *eventStream {
	w.t.Helper()
	e := (&mcpSession{w: w}).readHead(w.raw(subscribeRequest(id, asked)))
	e.event(acknowledged(id, honoured))
	if got := e.block(); got != ": open" {
		w.t.Errorf("got %q behind the acknowledgement", got)
	}
	return e
}

// hearing has the container's notifications path be open.
func (w *world) hearing() *provider {
	w.t.Helper()
	p := w.provide("c1")
	p.exchange(w.connect("c1"))
	return p
}

func TestSubscriptionIsAcknowledgedFirst(t *testing.T) {
	w := newWorld(t)
	e := w.subscribe(`"listen:0"`, toolsTopic, toolsTopic)
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Mcp-Session-Id": "",
	} {
		if got := e.head.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if e.head.StatusCode != 200 {
		t.Errorf("status %d", e.head.StatusCode)
	}
}

// TestSubscriptionIDsKeepTheirType: a client that gets 1 for "1" waits for ever.
func TestSubscriptionIDsKeepTheirType(t *testing.T) {
	w := newWorld(t)
	p := w.hearing()
	ids := []string{`0`, `"0"`, `""`, `-1`, `9007199254740993`, `"\u0061\/é"`}
	var streams []*eventStream
	for _, id := range ids {
		streams = append(streams, w.subscribe(id, toolsTopic, toolsTopic))
	}
	p.notify(toolsChanged)
	for i, e := range streams {
		e.event(changed("tools", ids[i]))
	}
	w.stop()
	for i, e := range streams {
		e.event(over(ids[i]))
		e.ends()
	}
}

// TestSubscriptionsAreFilteredEachByItsOwn, and sessions hear everything.
func TestSubscriptionsAreFilteredEachByItsOwn(t *testing.T) {
	w := newWorld(t)
	p := w.hearing()
	session := w.connect("c1").listen()
	tools := w.subscribe(`1`, toolsTopic, toolsTopic)
	resources := w.subscribe(`1`, `"toolsListChanged":false,`+resourcesTopic+`,"promptsListChanged":true,"resourceSubscriptions":["file:///a"],"x":1`, resourcesTopic)
	both := w.subscribe(`2`, resourcesTopic+`,`+toolsTopic+`,"promptsListChanged":null`, toolsTopic+`,`+resourcesTopic)
	for _, n := range []string{
		toolsChanged,
		`{"method":"notifications/prompts/list_changed"}`,
		`{"method":"notifications/resources/updated","params":{"uri":"file:///a"}}`,
		`{"method":"notifications/message","params":{"level":"info","data":1}}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"method":"notifications/subscriptions/acknowledged","params":{}}`,
		`{"method":"x/y"}`,
		resourcesChanged,
	} {
		p.notify(n)
		session.event(versioned(n))
	}
	p.notify(`{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	w.observed.await(t, "unheard "+UnheardProgress, 1)
	tools.event(changed("tools", `1`))
	resources.event(changed("resources", `1`))
	both.event(changed("tools", `2`))
	both.event(changed("resources", `2`))
	w.stop()
	session.ends()
	for id, e := range map[string]*eventStream{`1`: tools, `2`: both} {
		e.event(over(id))
		e.ends()
	}
	resources.event(over(`1`))
	resources.ends()
}

func TestSubscribedNotificationIsKeptByteForByte(t *testing.T) {
	w := newWorld(t)
	p := w.hearing()
	e := w.subscribe(`3`, toolsTopic, toolsTopic)
	p.notify("{\"jsonrpc\":\"2.0\", \"method\":\"notifications\\/tools/list_changed\",\n\"params\":{\"n\":1.0,\"_meta\":{\"a\":1, \"io.modelcontextprotocol/subscriptionId\":\"theirs\"}},\"y\":[]}")
	e.event(`{"jsonrpc":"2.0", "method":"notifications\/tools/list_changed", "params":{"n":1.0,"_meta":{"a":1, "io.modelcontextprotocol/subscriptionId":3}},"y":[]}`)
	p.notify(`{"method":"notifications/tools/list_changed","params":{"_meta":7}}`)
	w.observed.await(t, "unheard "+UnheardNoStream, 1)
}

func TestNotificationThatNoSubscriptionAskedForIsUnheard(t *testing.T) {
	w := newWorld(t)
	p := w.hearing()
	w.subscribe(`1`, toolsTopic, toolsTopic)
	p.notify(resourcesChanged)
	p.notify(`{"method":"notifications/message","params":{}}`)
	w.observed.await(t, "unheard "+UnheardNoStream, 2)
}

// TestSubscriptionToNothingIsOverAtOnce, on a connection that goes on.
func TestSubscriptionToNothingIsOverAtOnce(t *testing.T) {
	w := newWorld(t)
	for _, asked := range []string{``, `"promptsListChanged":true`, `"toolsListChanged":false`, `"resourceSubscriptions":["a"]`} {
		r := do(t, newClient(t), w.modern(`"l"`, "subscriptions/listen", `"notifications":{`+asked+`}`))
		r.is(200, "event: message\ndata: "+acknowledged(`"l"`, ``)+"\n\nevent: message\ndata: "+over(`"l"`)+"\n\n")
		if r.header.Get("Content-Type") != "text/event-stream" || r.header.Get("Cache-Control") != "no-cache, no-transform" ||
			r.header.Get("X-Accel-Buffering") != "no" || r.closes {
			t.Errorf("got %v", r.header)
		}
	}
	if got := w.streams.Streams.Load(); got != 0 {
		t.Errorf("%d streams are open", got)
	}
}

func TestSubscriptionNeedsNotifications(t *testing.T) {
	w := newWorld(t)
	for _, members := range []string{``, `"notifications":null`, `"notifications":[]`, `"notifications":true`,
		`"notifications":{"toolsListChanged":1}`, `"notifications":{"resourcesListChanged":"true"}`,
		`"notifications":{` + toolsTopic + `,` + toolsTopic + `}`, `"notifications":{},"notifications":{}`} {
		do(t, newClient(t), w.modern(`9`, "subscriptions/listen", members)).fails(200, -32602, "9", "Invalid params")
	}
	w.connect("c1").send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{`+toolsTopic+`}}}`).
		fails(200, -32601, "1", "subscriptions/listen")
}

// TestSubscriptionEndsWithItsClient, whose container can then be forgotten.
func TestSubscriptionEndsWithItsClient(t *testing.T) {
	w := newWorld(t)
	kept := w.subscribe(`1`, toolsTopic, toolsTopic)
	for i := range 3 {
		e := w.subscribe(`2`, toolsTopic, toolsTopic)
		if i == 1 {
			if err := e.conn.(*net.TCPConn).SetLinger(0); err != nil {
				t.Fatal(err)
			}
		}
		_ = e.conn.Close()
		await(t, "one stream left", func() bool {
			return w.streams.Streams.Load() == 1 && w.streams.Closed[stream.CloseLeft].Load() == uint64(i+1)
		})
	}
	w.idle()
	if w.mux.Lookup("c1") == nil {
		t.Error("the container of an open subscription was forgotten")
	}
	_ = kept.conn.Close()
	await(t, "the container is forgotten", func() bool {
		w.idle()
		return w.mux.Lookup("c1") == nil
	})
}

func TestSubscriptionIsKeptAlive(t *testing.T) {
	w := newWorld(t, func(o *options) { o.keepAlive = 64 * time.Millisecond })
	e := w.subscribe(`1`, toolsTopic, toolsTopic)
	for range 3 {
		if got := e.block(); got != ": keepalive" {
			t.Fatalf("got %q", got)
		}
	}
}

// onPipe opens a subscription on a pipe: what is written waits until it is read.
func (w *world) onPipe(id string, wanted topics) net.Conn {
	server, client := net.Pipe()
	w.t.Cleanup(func() { _ = client.Close() })
	go w.handler.stream(sock.Wrap(server), &listening{
		container: there(w.mux.Enter("c1")), subscription: &subscription{id: []byte(id), topics: wanted}})
	return client
}

// TestAcknowledgementPrecedesANotificationThatCameFirst has one come while the
// head is still being written.
func TestAcknowledgementPrecedesANotificationThatCameFirst(t *testing.T) {
	w := newWorld(t)
	p := w.hearing()
	client := w.onPipe(`1`, 1)
	await(t, "the subscription", func() bool { return w.streams.Streams.Load() == 1 })
	for range 10 {
		p.notify(toolsChanged)
	}
	e := (&mcpSession{w: w}).readHead(client)
	e.event(acknowledged(`1`, toolsTopic))
	var rest []string
	for len(rest) < 2 {
		rest = append(rest, e.block())
	}
	if got := strings.Join(rest, "|"); !strings.Contains(got, ": open") || !strings.Contains(got, changed("tools", `1`)) {
		t.Errorf("got %q", rest)
	}
	if w.streams.Coalesced.Load() == 0 {
		t.Error("nothing was merged")
	}
}

// TestShutdownDoesNotWaitForASubscriberThatReadsNothing, for longer than it may.
func TestShutdownDoesNotWaitForASubscriberThatReadsNothing(t *testing.T) {
	w := newWorld(t)
	w.onPipe(`1`, 1)
	await(t, "the subscription", func() bool { return w.streams.Streams.Load() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.handler.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	await(t, "no stream", func() bool { return w.streams.Streams.Load() == 0 })
}

// TestSubscriptionOfAStoppingGatewayIsOverAtOnce opens one whose request came in
// time, and whose stream did not.
func TestSubscriptionOfAStoppingGatewayIsOverAtOnce(t *testing.T) {
	w := newWorld(t)
	w.handler.roster.close()
	client := w.onPipe(`1`, 1)
	e := (&mcpSession{w: w}).readHead(client)
	e.event(acknowledged(`1`, toolsTopic))
	if got := e.block(); got != ": open" {
		t.Errorf("got %q", got)
	}
	e.event(over(`1`))
	e.ends()
}

// TestContainerWithoutSubscriptionsHasNoneInMemory, and one that had some does
// not keep their streams.
func TestContainerWithoutSubscriptionsHasNoneInMemory(t *testing.T) {
	w := newWorld(t)
	w.connect("c1").listen()
	face := w.mux.Lookup("c1").Sink().(*Face)
	if face.subscriptions.Load() != nil {
		t.Error("there are subscriptions")
	}
	e := w.subscribe(`1`, toolsTopic, toolsTopic)
	_ = e.conn.Close()
	await(t, "none is kept", func() bool { return face.subscriptions.Load().open.Load() == nil })
}

func TestEarlyBytesBehindASubscriptionAreIgnored(t *testing.T) {
	w := newWorld(t)
	p := w.hearing()
	conn := w.raw(subscribeRequest(`1`, toolsTopic) + "early bytes")
	e := (&mcpSession{w: w}).readHead(conn)
	e.event(acknowledged(`1`, toolsTopic))
	e.block()
	if _, err := io.Copy(conn, bytes.NewReader(make([]byte, 100_000))); err != nil {
		t.Fatal(err)
	}
	p.notify(toolsChanged)
	e.event(changed("tools", `1`))
}

// FuzzSubscription gives any id and any notification to a subscription: every
// event is one line of JSON with that id.
func FuzzSubscription(f *testing.F) {
	f.Add(`"listen:0"`, `{"method":"notifications/tools/list_changed"}`)
	f.Add(`0`, "{\r\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\n\"params\":{\"_meta\":{\"a\":[]}}}")
	f.Fuzz(func(t *testing.T, id, raw string) {
		m, err := codec.ParseMessage([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{` + toolsTopic + `}}}`))
		if err != nil || m.Form != codec.FormRequest {
			t.Skip("no request: the id is none")
		}
		s, err := parseSubscription(&m)
		if err != nil {
			t.Skip("no subscription: the id brought members of its own")
		}
		events := [][]byte{s.acknowledgement(), s.end([]byte(ourInfo))}
		if n, err := codec.ParseNotification([]byte(raw)); err == nil {
			if event := s.notification(n); event != nil {
				events = append(events, event)
			}
		}
		for i, event := range events {
			data, ok := bytes.CutPrefix(event, []byte("event: message\ndata: "))
			data, whole := bytes.CutSuffix(data, []byte("\n\n"))
			if !ok || !whole || bytes.ContainsAny(data, "\r\n") {
				t.Fatalf("no event: %q", event)
			}
			got, err := codec.ParseMessage(data)
			if err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			in := got.Params
			if i == 1 {
				in = got.Result
			}
			meta, err := codec.Member(in, "_meta")
			if err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			kept, err := codec.Member(meta, codec.MetaSubscriptionID)
			if err != nil || !bytes.Equal(kept, m.ID) {
				t.Fatalf("the id %s is kept as %s, %v: %s", m.ID, kept, err, data)
			}
		}
	})
}
