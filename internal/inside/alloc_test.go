//go:build !race

package inside

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// prompt answers each ask at once, in the goroutine that makes it.
type prompt struct {
	t       testing.TB
	mux     *mux.Mux
	channel uint32
	kind    codec.Kind
	frame   []byte
}

func (p *prompt) Announce(channel uint32, k codec.Kind, _ []byte) {
	if k != codec.Notifications {
		p.channel, p.kind = channel, k
	}
}

func (p *prompt) Flush() {
	path, err := p.mux.Open("c1", p.kind, p.channel, p)
	if err != nil {
		p.t.Error(err)
		return
	}
	path.Arrived()
	b := codec.GetFrame(len(p.frame)) // as a socket reads it
	b.B = append(b.B, p.frame...)
	path.ClosedWith(b)
	b.Release()
}

func (p *prompt) Probe()         {}
func (p *prompt) CloseUnserved() {}

// TestAllocationsPerRequest holds what this room and package mux allocate for a
// request, HTTP itself not counted.
func TestAllocationsPerRequest(t *testing.T) { allocationsPerRequest(t, newWorld(t)) }

// TestATokenCostsNoAllocation holds the same with a token, whose container's name
// need not be made.
func TestATokenCostsNoAllocation(t *testing.T) {
	k := newKeyring(t)
	allocationsPerRequest(t, newWorld(t, k.asks), "Authorization: Bearer "+k.of("c1"))
}

func allocationsPerRequest(t *testing.T, w *world, more ...string) {
	claim, err := w.mux.Claim("c1")
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Detach()
	claim.Attach(&prompt{t: t, mux: w.mux, frame: codec.AppendResult(nil, []byte(`{"content":[]}`))})
	there(w.mux.Container("c1")).Sink().(*Face).learn(nil, []byte(toolList("", annotated("wants"))))
	token, _ := w.faces.mint("c1", newest)
	session := []string{"Mcp-Session-Id: " + token, "MCP-Protocol-Version: 2025-11-25"}
	stateless := func(method string, more ...string) []string {
		return append(more, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method)
	}
	for _, c := range []struct {
		name       string
		head       []string
		body, want string
		most       float64
	}{
		{"ping", session, pingBody, `{"jsonrpc":"2.0","id":7,"result":{}}`, 1},
		// The container's name, the call's key, mux's ask and path, and the channel's row.
		{"call", session, callBody, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, 6},
		{"modern templates", stateless("resources/templates/list"),
			`{"jsonrpc":"2.0","id":7,"method":"resources/templates/list","params":{` + modernKey + `}}`,
			`{"jsonrpc":"2.0","id":7,"result":` + string(w.handler.ours.templates) + `}`, 1},
		{"modern call", stateless("tools/call", "Mcp-Name: t"),
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + modernKey + `,"name":"t"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete",` + ourMeta + `}}`, 6},
		{"modern call with arguments in headers", stateless("tools/call", "Mcp-Name: wants", "Mcp-Param-Region: eu", "Mcp-Param-N: 1"),
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + modernKey + `,"name":"wants","arguments":{"n":1,"region":"\u0065u"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete",` + ourMeta + `}}`, 6},
	} {
		client := w.offline()
		head := []byte(postHead("/containers/c1/mcp", "", slices.Concat(c.head, more, []string{fmt.Sprintf("Content-Length: %d", len(c.body))})...))
		var got []byte
		n := testing.AllocsPerRun(1000, func() {
			x := client.request(head, c.body)
			w.handler.serve(x)
			got = append(got[:0], x.response.Body()...)
			x.release()
		})
		if string(got) != c.want {
			t.Errorf("%s: got %s", c.name, got)
		}
		t.Logf("%s: %v allocations", c.name, n)
		if n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, n, c.most)
		}
	}
}

// TestAllocationsPerCallWithProgress holds what a call costs that asks for
// progress, and each notification of it: the event.
func TestAllocationsPerCallWithProgress(t *testing.T) {
	w := newWorld(t)
	claim, err := w.mux.Claim("c1")
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Detach()
	claim.Attach(&prompt{t: t, mux: w.mux, frame: codec.AppendResult(nil, []byte(emptyContent))})
	token, _ := w.faces.mint("c1", newest)
	client, body := w.offline(), progressCall("1", "5")
	head := []byte(postHead("/containers/c1/mcp", token, fmt.Sprintf("Content-Length: %d", len(body))))
	n := testing.AllocsPerRun(1000, func() {
		x := client.request(head, body)
		w.handler.serve(x)
		x.release()
	})
	// Besides those of a call its token there and here, the listener and its row, and the queue and its channel.
	if t.Logf("a call: %v allocations", n); n > 14 {
		t.Errorf("a call: %v allocations, want at most 14", n)
	}

	face := w.mux.Lookup("c1").Sink().(*Face)
	l := newQueue().listener([]byte("7"), []byte(`"mine"`))
	face.tokens.listen(l)
	progress, err := codec.ParseNotification([]byte(progressOf("7", 1)))
	if err != nil {
		t.Fatal(err)
	}
	n = testing.AllocsPerRun(1000, func() {
		face.Notify(progress)
		if l.queue.take() == nil {
			t.Error("nothing was queued")
		}
	})
	if t.Logf("a notification: %v allocations", n); n > 3 {
		t.Errorf("a notification: %v allocations, want at most 3", n)
	}
}

// TestNotificationIsEncodedOnce holds that a notification is one allocation,
// whatever the number of streams it goes to.
func TestNotificationIsEncodedOnce(t *testing.T) {
	w := newWorld(t)
	there(w.mux.Container("c1"))
	face := w.mux.Lookup("c1").Sink().(*Face)
	n, err := codec.ParseNotification([]byte(toolsChanged))
	if err != nil {
		t.Fatal(err)
	}
	const streams = 50
	for range streams {
		token, _ := w.faces.mint("c1", newest)
		conn := w.raw(getHead("/containers/c1/mcp", token))
		drained := make(chan struct{})
		go func() { defer close(drained); _, _ = io.Copy(io.Discard, conn) }()
		t.Cleanup(func() { _ = conn.Close(); <-drained })
	}
	await(t, "all streams", func() bool { return w.streams.Streams.Load() == streams })
	if got := testing.AllocsPerRun(500, func() { face.Notify(n) }); got > 1 {
		t.Errorf("%v allocations for one notification to %d streams", got, streams)
	}
}

// TestWaitingLooksForTheClientWithoutAllocating is what a call costs per second
// of waiting.
func TestWaitingLooksForTheClientWithoutAllocating(t *testing.T) {
	w := newWorld(t)
	r := w.reply(sock.Wrap(w.raw("")))
	defer r.release()
	if got := testing.AllocsPerRun(100, func() { r.lookAt = r.began; r.tick(r.began); r.timer.Reset(r.next().Sub(r.began)) }); got > 0 {
		t.Errorf("%v allocations per look", got)
	}
}

// BenchmarkIdentify is what a request costs more where tokens are asked for.
func BenchmarkIdentify(b *testing.B) {
	k := newKeyring(b)
	w := newWorld(b, k.asks)
	w.handler.now = time.Now
	client := w.offline()
	token := k.Token("c1", auth.Inside, time.Now())
	x := client.request([]byte(postHead("/containers/c1/mcp", "", "Authorization: Bearer "+token, "Content-Length: 0")), "")
	defer x.release()
	id := []byte("c1")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, refused, _ := w.handler.identify(&x.request.Header, id); refused != "" {
			b.Fatal(refused)
		}
	}
}
