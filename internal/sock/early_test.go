package sock

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// hijacks serves fasthttp as the gateway does and hands over each connection's
// raw half and early bytes.
func hijacks(t *testing.T) (addr string, taken <-chan func() (net.Conn, []byte, error)) {
	t.Helper()
	out := make(chan func() (net.Conn, []byte, error), 1)
	server := &fasthttp.Server{
		KeepHijackedConns: true,
		ReduceMemoryUsage: true,
		// The worker pool's janitor ends only when it next looks.
		MaxIdleWorkerDuration: time.Millisecond,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(nc net.Conn) {
				raw, early, err := Early(nc)
				out <- func() (net.Conn, []byte, error) { return raw, early, err }
			})
		},
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		server.Shutdown()
		<-served
	})
	return ln.Addr().String(), out
}

func TestEarlyBytesOfAHijackedConnectionAreKept(t *testing.T) {
	addr, taken := hijacks(t)
	// The reader takes 4 KiB at once: the longest is more than it can hold.
	for _, n := range []int{0, 1, 1000, 64 << 10} {
		peer, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		sent := counting(n)
		request := "GET /requests HTTP/1.1\r\nHost: gateway\r\n\r\n"
		if _, err := peer.Write(append([]byte(request), sent...)); err != nil {
			t.Fatal(err)
		}
		raw, early, err := (<-taken)()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := raw.(*net.TCPConn); !ok {
			t.Fatalf("the raw connection is a %T", raw)
		}
		if n == 1 && string(early) != string(sent) {
			t.Errorf("the early byte came as %q", early)
		}
		if n == 0 && early != nil {
			t.Errorf("early bytes from nowhere: %q", early)
		}
		// The deadline is cleared, and both halves go on where they were.
		rest := make([]byte, n-len(early))
		if _, err := io.ReadFull(raw, rest); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append(early, rest...), sent) {
			t.Errorf("%d bytes sent early arrived changed", n)
		}
		peer.Write([]byte("later"))
		chunk, err := Wrap(raw).ReadIdle()
		if err != nil || string(chunk.B) != "later" {
			t.Fatal(err)
		}
		chunk.Release()
		raw.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
		response, err := http.ReadResponse(bufio.NewReader(peer), nil)
		if err != nil || response.StatusCode != http.StatusNotFound {
			t.Fatal(err)
		}
		raw.Close()
		peer.Close()
	}
}

func TestEarlyLeavesAnEndToTheReader(t *testing.T) {
	addr, taken := hijacks(t)
	peer, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(peer, strings.NewReader("GET / HTTP/1.1\r\nHost: gateway\r\n\r\nbye"))
	peer.Close()
	raw, early, err := (<-taken)()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	rest, err := io.ReadAll(raw)
	if got := string(early) + string(rest); got != "bye" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestEarlyOfAPlainConnection(t *testing.T) {
	c, peer := tcpPair(t)
	peer.Write([]byte("x"))
	raw, early, err := Early(c)
	if raw != net.Conn(c) || early != nil || err != nil {
		t.Errorf("got %v, %q, %v", raw, early, err)
	}
	if chunk, err := c.ReadIdle(); err != nil || string(chunk.B) != "x" {
		t.Errorf("the byte is gone: %v", err)
	} else {
		chunk.Release()
	}
	c.Close()
	if _, _, err := Early(c); err == nil {
		t.Error("no error from a closed connection")
	}
}
