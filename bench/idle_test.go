//go:build !race

package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
)

const (
	socketLimit    = 4 << 10  // heap and stack of one idle WebSocket, after traffic
	containerLimit = 12 << 10 // heap and stack of one idle container: both sockets, one SSE stream, session and state, after traffic
)

// container is the far end of all that one container and its server keep open.
type container struct {
	requests, notifications, stream peer
}

func (c container) close() {
	c.stream.close()
	c.notifications.close()
	c.requests.close()
}

// openRequests opens a container's /requests and passes one ping through it.
func openRequests(tb testing.TB, g *running, id string, buf []byte) peer {
	p := dial(tb, g.outside)
	p.send(tb, upgrade("/containers/"+id+"/requests"))
	switched(tb, p.receive(tb, buf, headEnds))
	ping(tb, p, buf)
	return p
}

func ping(tb testing.TB, p peer, buf []byte) {
	tb.Helper()
	p.send(tb, frame(opPing, []byte("?")))
	p.receive(tb, buf, func(b []byte) bool { op, _, _, ok := unframe(b); return ok && op == opPong })
}

// openContainer brings one container to where it idles: session made, one call answered, notifications path and SSE stream
// open, one notification heard and one ping answered on each socket.
func openContainer(tb testing.TB, g *running, id string, buf []byte) container {
	c := container{requests: openRequests(tb, g, id, buf)}
	mcp := "/containers/" + id + "/mcp"

	client := dial(tb, g.inside)
	client.send(tb, post(mcp, "", initialize))
	session := header(tb, client.receive(tb, buf, httpWhole), "mcp-session-id")

	client.send(tb, post(mcp, session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`))
	var channels [5]uint32
	c.requests.receive(tb, buf, func(b []byte) bool {
		asks := 0
		for {
			_, ask, rest, ok := unframe(b)
			if !ok {
				return asks == 2
			}
			channels[ask[4]] = binary.BigEndian.Uint32(ask)
			asks, b = asks+1, rest
		}
	})
	answer := dial(tb, g.outside)
	answer.send(tb, upgrade(fmt.Sprintf("/containers/%s/mcp/call-tool/%d", id, channels[2])))
	switched(tb, answer.receive(tb, buf, headEnds))
	answer.send(tb, append(frame(opBinary, []byte("\x00"+`{"content":[]}`)), frame(opClose, []byte{0x03, 0xe8})...))
	answer.receive(tb, buf, func(b []byte) bool { op, _, _, ok := unframe(b); return ok && op == opClose })
	answer.close()
	if reply := client.receive(tb, buf, httpWhole); !bytes.Contains(reply, []byte(`"result":{"content":[]}`)) {
		tb.Fatalf("the call was answered with %q", reply)
	}
	client.close()

	c.stream = dial(tb, g.inside)
	c.stream.send(tb, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: gateway\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", mcp, session))
	c.stream.receive(tb, buf, headEnds)

	c.notifications = dial(tb, g.outside)
	c.notifications.send(tb, upgrade(fmt.Sprintf("/containers/%s/mcp/notifications/%d", id, channels[4])))
	switched(tb, c.notifications.receive(tb, buf, headEnds))
	c.notifications.send(tb, frame(opBinary, []byte("\x00"+`{"method":"notifications/tools/list_changed"}`)))
	c.stream.receive(tb, buf, func(b []byte) bool { return bytes.Contains(b, []byte(`tools/list_changed"}`)) })

	ping(tb, c.requests, buf)
	ping(tb, c.notifications, buf)
	return c
}

// goMemory is what the Go heap and the goroutines' stacks hold now, garbage aside.
func goMemory() (heap, stack int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}

// perItem opens n things and returns what each of them costs while all of them idle.
func perItem(tb testing.TB, n int, open func(i int) (closing func())) int64 {
	closings := make([]func(), 0, n+64)
	for i := range 64 { // pools, tables and runtime structures find their size first
		closings = append(closings, open(i))
	}
	heap, stack := goMemory()
	for i := range n {
		closings = append(closings, open(64+i))
	}
	heapAfter, stackAfter := goMemory()
	for _, closing := range closings {
		closing()
	}
	tb.Logf("each of %d: heap %d B, stack %d B", n, (heapAfter-heap)/int64(n), (stackAfter-stack)/int64(n))
	return (heapAfter - heap + stackAfter - stack) / int64(n)
}

func TestIdleSocketCostsAtMost4KB(t *testing.T) {
	g, buf := start(t), make([]byte, 64<<10)
	got := perItem(t, 2000, func(i int) func() { return openRequests(t, g, fmt.Sprintf("c%d", i), buf).close })
	if got > socketLimit {
		t.Errorf("an idle WebSocket with its container costs %d B of heap and stack; the limit is %d", got, socketLimit)
	}
}

func TestIdleContainerCostsAtMost12KB(t *testing.T) {
	g, buf := start(t), make([]byte, 64<<10)
	got := perItem(t, 1000, func(i int) func() { return openContainer(t, g, fmt.Sprintf("c%d", i), buf).close })
	if got > containerLimit {
		t.Errorf("an idle container costs %d B of heap and stack; the limit is %d", got, containerLimit)
	}
}
