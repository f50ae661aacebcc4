package bench

import (
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// provider is the least that a server can do: it hears a container's asks on one socket, and answers each on its own path
// with the same result, `width` of them at a time.
func provider(tb testing.TB, g *running, id string, width int, result []byte) (stop func()) {
	requests := dial(tb, g.outside)
	buf := make([]byte, 64<<10)
	requests.send(tb, upgrade("/containers/"+id+"/requests"))
	switched(tb, requests.receive(tb, buf, headEnds))

	asks := make(chan uint32, 1024)
	var ended sync.WaitGroup
	answer := append(frame(opBinary, append([]byte{0}, result...)), frame(opClose, []byte{0x03, 0xe8})...)
	for range width {
		ended.Go(func() {
			buf := make([]byte, 4<<10)
			path, request := "GET /containers/"+id+"/mcp/call-tool/", make([]byte, 0, 512)
			for channel := range asks {
				p := dial(tb, g.outside)
				request = append(strconv.AppendUint(append(request[:0], path...), uint64(channel), 10), upgradeHeaders...)
				p.send(tb, request)
				switched(tb, p.receive(tb, buf, headEnds))
				p.send(tb, answer)
				p.receive(tb, buf, func(b []byte) bool { op, _, _, ok := unframe(b); return ok && op == opClose })
				p.close()
			}
		})
	}
	ended.Go(func() {
		defer close(asks)
		kept := 0
		for {
			n, err := requests.read(buf[kept:])
			if err != nil || n == 0 {
				return
			}
			rest := buf[:kept+n]
			for {
				op, ask, after, ok := unframe(rest)
				if !ok {
					break
				}
				if op == opBinary && ask[4] == 2 {
					asks <- binary.BigEndian.Uint32(ask)
				}
				rest = after
			}
			kept = copy(buf, rest)
		}
	})
	return func() {
		requests.shutdown()
		ended.Wait()
		requests.close()
	}
}

// BenchmarkExchange is one tools/call of 256 B through the whole gateway: POST, announcement, answer path, clean close,
// response. 64 callers share the containers; the clients and the servers run in this process too.
func BenchmarkExchange(b *testing.B) {
	for _, containers := range []int{1, 16} {
		b.Run(fmt.Sprintf("containers=%d", containers), func(b *testing.B) { exchanges(b, containers, 64) })
	}
}

func exchanges(b *testing.B, containers, callers int) {
	g := start(b)
	result := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 200) + `"}]}`)
	for i := range containers {
		b.Cleanup(provider(b, g, fmt.Sprintf("c%d", i), callers/containers, result))
	}
	clients, requests := make([]peer, callers), make([][]byte, callers)
	buf := make([]byte, 4<<10)
	for i := range callers {
		mcp := fmt.Sprintf("/containers/c%d/mcp", i%containers)
		clients[i] = dial(b, g.inside)
		b.Cleanup(clients[i].close)
		clients[i].send(b, post(mcp, "", initialize))
		session := header(b, clients[i].receive(b, buf, httpWhole), "mcp-session-id")
		requests[i] = post(mcp, session, toolCall(i))
	}
	callAll(b, clients, requests, "exchanges/s")
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

func toolCall(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"text":"%s"}}}`, id, strings.Repeat("y", 160))
}

// callAll has every client send its request again and again, b.N times in all.
func callAll(b *testing.B, clients []peer, requests [][]byte, unit string) {
	var turn atomic.Int64
	var ended sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	started := time.Now()
	for i := range clients {
		ended.Go(func() {
			buf := make([]byte, 4<<10)
			for turn.Add(1) <= int64(b.N) {
				clients[i].send(b, requests[i])
				clients[i].receive(b, buf, httpWhole)
			}
		})
	}
	ended.Wait()
	b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), unit)
}

// BenchmarkBarePost is the same request and response, client and count of callers, with nothing behind a bare fasthttp
// handler: what to hold BenchmarkExchange of the same run against.
func BenchmarkBarePost(b *testing.B) {
	const callers = 64
	reply := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 200) + `"}]}}`)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBody(reply) }}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ln) }) // ends with the shutdown below
	b.Cleanup(func() {
		_ = server.Shutdown()
		serving.Wait()
	})
	clients, requests := make([]peer, callers), make([][]byte, callers)
	for i := range callers {
		clients[i] = dial(b, ln.Addr().String())
		b.Cleanup(clients[i].close)
		requests[i] = post("/mcp", "", toolCall(i))
	}
	callAll(b, clients, requests, "posts/s")
}
