package attack

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// TestHalfOpenHandshakesStarveNobody has a thousand connections to each listener say
// nothing, half a head, or a byte of it now and then, while calls are answered. In
// ten seconds they would be closed: that the rooms' own tests prove.
func TestHalfOpenHandshakesStarveNobody(t *testing.T) {
	const each = 1000
	w := begin(t)
	w.survives(func() {
		c := w.container("busy")
		defer c.leave()
		before := w.metric("go_memstats_heap_inuse_bytes") + w.metric("go_memstats_stack_inuse_bytes")
		conns := append(w.flood(w.outside, each), w.flood(w.inside, each)...)
		for i, conn := range conns {
			switch i % 4 {
			case 1:
				_, _ = io.WriteString(conn, "GET /containers/busy/requests HTTP/1.1\r\nHost: g\r\nX: ")
			case 2:
				_, _ = io.WriteString(conn, c.post(ping)[:100+i%50])
			case 3:
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 8000))
			}
		}
		for range 20 {
			for _, conn := range conns {
				_, _ = io.WriteString(conn, "x") // some are refused by then
			}
			c.exchange()
		}
		if grown := w.metric("go_memstats_heap_inuse_bytes") + w.metric("go_memstats_stack_inuse_bytes") - before; grown > len(conns)*48<<10 {
			t.Errorf("%d connections took %d KiB each", len(conns), grown/len(conns)>>10)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
}

// TestWhoReadsNoResponseHasNoMore pipelines requests that are refused, and reads
// nothing: no more is taken than what the sockets hold.
func TestWhoReadsNoResponseHasNoMore(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		for _, addr := range []string{w.outside, w.inside} {
			conn := w.dial(addr)
			requests := strings.Repeat("GET /nowhere HTTP/1.1\r\nHost: g\r\nAccept: text/event-stream\r\n\r\n", 1000)
			if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			tried.Add(1)
			for n := 0; ; n++ {
				if _, err := io.WriteString(conn, requests); err != nil {
					break
				}
				if n > 2000 {
					t.Fatalf("%s: takes requests without end", addr)
				}
			}
			_ = conn.Close()
		}
	})
}

// TestGuessesAndRefusalsLeaveNothing opens what is not there, many at once.
func TestGuessesAndRefusalsLeaveNothing(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for n := range 100 {
					tried.Add(1)
					p, got, err := wstest.Try(w.outside, "/containers/bystander/mcp/call-tool/7", wstest.Early(make([]byte, n*100)))
					if err != nil || p != nil || got.Status != http.StatusNotFound {
						t.Errorf("%v %d %v", p, got.Status, err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// TestDamagedRequestsAreAnsweredOrEnd changes good requests at random places: each
// gets a response, or the connection ends, and nobody waits for ever.
func TestDamagedRequestsAreAnsweredOrEnd(t *testing.T) {
	const each = 1500
	w := begin(t)
	w.survives(func() {
		c := &container{w: w, id: "damaged"}
		conn := w.dial(w.inside)
		c.session = w.speak(conn, http.MethodPost, c.post(initialize)).header.Get("Mcp-Session-Id")
		_ = conn.Close()
		random := rand.New(rand.NewPCG(1, 2))
		for _, from := range []struct{ addr, request string }{
			{w.outside, get("/containers/damaged/requests") + upgrade + "\r\n"},
			{w.outside, get("/mcp/call-tool/1") + upgrade + "\r\n" + string(whole(wstest.OpBinary, []byte("\x00{}")))},
			{w.inside, c.post(ping)},
			{w.inside, c.head("Transfer-Encoding: chunked") + "10;x=y\r\n" + ping[:16] + "\r\n18\r\n" + ping[16:40] + "\r\n0\r\nA: b\r\n\r\n"},
		} {
			for range each {
				tried.Add(1)
				damaged := damage(random, []byte(from.request))
				conn := w.dial(from.addr)
				_, _ = conn.Write(damaged)
				// Who has said all it has to say is told what is wrong with it.
				_ = conn.CloseWrite()
				answer, _ := io.ReadAll(conn)
				if len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
					t.Errorf("%q: %q", damaged, answer)
				}
				if err := conn.SetReadDeadline(time.Now()); err != nil {
					t.Errorf("%q: %v", damaged, err)
				}
				if !strings.Contains(string(answer), "application/x-ndjson") { // the list of containers was asked for
					w.tellsNothing(string(damaged), string(answer))
				}
				_ = conn.Close()
			}
		}
	})
}

// damage changes, removes, doubles or inserts a few bytes.
func damage(random *rand.Rand, b []byte) []byte {
	const telling = "\r\n\t :;,/\x00\x7f\xff%#?HTP10"
	for range 1 + random.IntN(3) {
		at := random.IntN(len(b))
		switch c := telling[random.IntN(len(telling))]; random.IntN(5) {
		case 0:
			b[at] = c
		case 1:
			b = append(b[:at:at], append([]byte{c}, b[at:]...)...)
		case 2:
			b = append(b[:at:at], b[min(at+1+random.IntN(8), len(b)-1):]...)
		case 3:
			b[at] ^= 1 << random.IntN(8)
		case 4:
			end := min(at+1+random.IntN(40), len(b))
			b = append(b[:end:end], append([]byte(string(b[at:end])), b[end:]...)...)
		}
	}
	return b
}
