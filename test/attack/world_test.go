package attack

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/gateway"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// world is a gateway under attack.
type world struct {
	t                    testing.TB
	outside, inside, ops string
	log                  *logBuffer
}

// begin starts a gateway that must be as it was when the test is over.
func begin(t testing.TB, set ...func(*gateway.Config)) *world {
	t.Helper()
	w := &world{t: t, log: &logBuffer{}}
	c := gateway.Default()
	c.Outside, c.Inside, c.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.ReaskAfter = 0
	c.Logger = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, f := range set {
		f(&c)
	}
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	w.outside, w.inside, w.ops = g.OutsideAddr().String(), g.InsideAddr().String(), g.OpsAddr().String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
		if log := w.log.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
			t.Errorf("the log has an error:\n%.4000s", log[max(0, strings.Index(log, "level=ERROR")):])
		}
	})
	return w
}

// resources is what an attack must not keep.
type resources struct{ goroutines, descriptors, sockets int }

// resting is how many goroutines more there may be than before: the listeners keep
// a few, which wait for the next connection.
const resting = 40

func (w *world) resources() resources {
	r := resources{goroutines: runtime.NumGoroutine(), sockets: w.metric("gateway_sockets_open")}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		r.descriptors = len(fds)
	}
	return r
}

// survives has an attack begin and end, and fails unless all it took is given back
// and containers are served as before.
func (w *world) survives(attack func()) {
	w.t.Helper()
	c := w.container("bystander")
	c.exchange()
	before := w.resources()
	attack()
	var after resources
	eventually(w.t, func() bool {
		after = w.resources()
		return after.goroutines <= before.goroutines+resting && after.descriptors <= before.descriptors && after.sockets <= before.sockets
	}, func() string { return fmt.Sprintf("%+v before, %+v after", before, after) })
	c.exchange()
	c.leave()
	if n := w.metric("gateway_panics_total") + w.metric("gateway_illegal_transitions_total"); n != 0 {
		w.t.Errorf("%d panics and illegal transitions", n)
	}
}

func eventually(t testing.TB, holds func() bool, what func() string) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("waited in vain: %s", what())
		}
	}
}

// metric is the sum of a metric over the series that have all of these labels.
func (w *world) metric(name string, labels ...string) (sum int) {
	w.t.Helper()
	conn := w.dial(w.ops)
	defer conn.Close()
	response := w.speak(conn, http.MethodGet, "GET /metrics HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
series:
	for line := range strings.Lines(response.body) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(series, label) {
				continue series
			}
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		sum += int(n)
	}
	return sum
}

func (w *world) refusals(listener string) int {
	w.t.Helper()
	return w.metric("gateway_refusals_total", `listener="`+listener+`"`)
}

func (w *world) dial(addr string) *net.TCPConn {
	w.t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// response is a whole HTTP response.
type response struct {
	status int
	header http.Header
	body   string
	closes bool
}

// speak sends a request and reads its response.
func (w *world) speak(conn net.Conn, method, request string) response {
	w.t.Helper()
	if _, err := io.WriteString(conn, request); err != nil && !strings.Contains(err.Error(), "reset") {
		w.t.Fatal(err)
	}
	return w.read(bufio.NewReader(conn), method, request)
}

func (w *world) read(in *bufio.Reader, method, request string) response {
	w.t.Helper()
	r, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("%.100q: no response: %v", request, err)
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusSwitchingProtocols {
		return response{status: r.StatusCode, header: r.Header}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatalf("%.100q: %v", request, err)
	}
	return response{r.StatusCode, r.Header, string(body), r.Close}
}

// tellsNothing fails if a response shows what is none of a stranger's business.
func (w *world) tellsNothing(request, response string) {
	w.t.Helper()
	for _, word := range []string{"fasthttp", "goroutine", "panic", ".go:", "runtime", "0xc0", "bystander", "/home/", "gateway/internal"} {
		if strings.Contains(response, word) {
			w.t.Errorf("%.100q was answered with %q, which has %q", request, response, word)
		}
	}
}

// reset ends a connection with a TCP reset.
func (w *world) reset(conn *net.TCPConn) {
	w.t.Helper()
	if err := conn.SetLinger(0); err != nil {
		w.t.Fatal(err)
	}
	_ = conn.Close()
}

// container is one that is served well: its client and its server.
type container struct {
	w       *world
	id      string
	session string
	line    *wstest.Peer
	calls   int
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (w *world) container(id string) *container {
	w.t.Helper()
	c := &container{w: w, id: id}
	conn := w.dial(w.inside)
	defer conn.Close()
	r := w.speak(conn, http.MethodPost, c.post(initialize))
	if c.session = r.header.Get("Mcp-Session-Id"); c.session == "" {
		w.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	c.connect()
	return c
}

// connect opens /requests, which is free at once after the one before has ended.
func (c *container) connect() {
	c.w.t.Helper()
	eventually(c.w.t, func() bool {
		peer, _, err := wstest.Try(c.w.outside, c.path("/requests"))
		if err != nil {
			c.w.t.Fatal(err)
		}
		c.line = peer
		return peer != nil
	}, func() string { return "the claim of " + c.id })
}

func (c *container) leave() {
	_ = c.line.NC.Close()
}

func (c *container) path(rest string) string { return "/containers/" + c.id + rest }

// head is the head of a POST of the container's session, with what lines say of
// its body.
func (c *container) head(lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", c.path("/mcp"))
	if c.session != "" {
		fmt.Fprintf(&b, "Mcp-Session-Id: %s\r\n", c.session)
	}
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

func (c *container) post(body string) string {
	return c.head(fmt.Sprintf("Content-Length: %d", len(body))) + body
}

// call is a call of a tool, whose answer has yet to come.
type call struct {
	c    *container
	id   int
	conn *net.TCPConn
}

func (c *container) call() *call {
	c.w.t.Helper()
	c.calls++
	k := &call{c: c, id: c.calls, conn: c.w.dial(c.w.inside)}
	if _, err := io.WriteString(k.conn, c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, k.id))); err != nil {
		c.w.t.Fatal(err)
	}
	return k
}

// ask is the next ask on /requests that is not for notifications.
func (c *container) ask() codec.Ask {
	c.w.t.Helper()
	for {
		f, err := c.line.Next()
		if err != nil {
			c.w.t.Fatalf("/requests of %s: %v", c.id, err)
		}
		if f.Op != wstest.OpBinary {
			continue
		}
		ask, err := codec.DecodeAsk(f.Payload)
		if err != nil {
			c.w.t.Fatal(err)
		}
		if !ask.Kind.Many() {
			return ask
		}
	}
}

func (c *container) answerPath(a codec.Ask) string {
	return c.path(fmt.Sprintf("/mcp/%s/%d", a.Kind.Name(), a.Channel))
}

func (c *container) open(a codec.Ask) *wstest.Peer {
	c.w.t.Helper()
	return wstest.Dial(c.w.t, c.w.outside, c.answerPath(a))
}

// result is the answer to a call that nobody else may get.
func (k *call) result() []byte {
	return fmt.Appendf(nil, "\x00"+`{"content":[{"type":"text","text":"%s %d"}]}`, k.c.id, k.id)
}

// answer answers the ask, and returns once the server's Close was answered.
func (k *call) answer(a codec.Ask) {
	k.c.w.t.Helper()
	p := k.c.open(a)
	p.BinaryAndClose(k.result())
	p.ReadClose()
	_ = p.NC.Close()
}

// hears fails unless the caller is told its own result, once.
func (k *call) hears() {
	k.c.w.t.Helper()
	in := bufio.NewReader(k.conn)
	r := k.c.w.read(in, http.MethodPost, "a call")
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, k.id, k.result()[1:])
	if r.status != http.StatusOK || r.body != want || in.Buffered() != 0 {
		k.c.w.t.Fatalf("call %d of %s was told %d %s, and then %d bytes", k.id, k.c.id, r.status, r.body, in.Buffered())
	}
	_ = k.conn.Close()
}

// exchange makes one call that is answered.
func (c *container) exchange() {
	c.w.t.Helper()
	k := c.call()
	k.answer(c.ask())
	k.hears()
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) count(part string) int { return strings.Count(l.String(), part) }
