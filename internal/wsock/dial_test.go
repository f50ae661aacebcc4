package wsock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func listener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

type dialled struct {
	conn *Conn
	err  error
}

// dialing dials in the background; the test plays the server meanwhile.
func dialing(ctx context.Context, url string, header http.Header) <-chan dialled {
	ch := make(chan dialled, 1)
	go func() {
		c, err := Dial(ctx, url, header, &Config{})
		ch <- dialled{c, err}
	}()
	return ch
}

func TestW1_DialOffersNothingAndKeepsEarlyBytes(t *testing.T) {
	ln := listener(t)
	url := "ws://" + ln.Addr().String() + "/containers/a%2fb/requests?x=1"
	result := dialing(t.Context(), url, http.Header{"Authorization": {"Bearer t"}})
	early := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: pattern(3000)})
	p, req := wstest.Accept(t, ln, early)
	if req.RequestURI != "/containers/a%2fb/requests?x=1" || req.Host != ln.Addr().String() || req.Method != "GET" {
		t.Fatalf("the request was %s %s, host %s", req.Method, req.RequestURI, req.Host)
	}
	want := map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Sec-Websocket-Version": "13", "Authorization": "Bearer t"}
	for name, value := range want {
		if got := req.Header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s: %q", name, got)
		}
	}
	if len(req.Header) != len(want)+1 || !validKey([]byte(req.Header.Get("Sec-Websocket-Key"))) {
		t.Errorf("the headers were %v", req.Header)
	}
	d := wait(t, "the connection", result)
	if d.err != nil {
		t.Fatal(d.err)
	}
	r := newRecorder()
	d.conn.Serve(r)
	same(t, r.message(t), pattern(3000))
	d.conn.Append([]byte{0}, []byte("{}"))
	d.conn.Close(1000, "")
	same(t, p.ReadBinary(), []byte("\x00{}"))
	p.ReadClose()
	p.Close(1000)
	p.NC.CloseWrite()
	r.clean(t, 1000)
	p.ReadEOF()
}

func TestW7_ARefusalIsTyped(t *testing.T) {
	tests := []struct {
		response string
		want     RefusedError
	}{
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\nno such channel\nreally", RefusedError{404, "no such channel"}},
		{"HTTP/1.1 409 Conflict\r\nConnection: close\r\n\r\n  claimed  \r\n", RefusedError{409, "claimed"}},
		{"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n", RefusedError{426, ""}},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", RefusedError{200, "hi"}},
		{"HTTP/1.1 503 No\r\n\r\n" + strings.Repeat("x", 5000), RefusedError{503, strings.Repeat("x", maxRefusal)}},
		{"HTTP/1.1 400 No\r\nContent-Length: 99\r\n\r\ncut sh", RefusedError{400, "cut sh"}},
	}
	for _, tt := range tests {
		_, err := answered(t, func(string) string { return tt.response })
		var refused *RefusedError
		if !errors.As(err, &refused) || *refused != tt.want {
			t.Errorf("%.40q: got %v", tt.response, err)
		} else if !strings.Contains(err.Error(), fmt.Sprint(tt.want.Status)) {
			t.Errorf("the error does not name the status: %v", err)
		}
	}
}

// answered dials a server that says this, given the key, and ends.
func answered(t *testing.T, response func(key string) string) (*Conn, error) {
	t.Helper()
	ln := listener(t)
	result := dialing(t.Context(), "ws://"+ln.Addr().String()+"/", nil)
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 0, 1024)
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		n, err := nc.Read(head[len(head) : len(head)+1])
		if err != nil {
			t.Fatal(err)
		}
		head = head[:len(head)+n]
	}
	_, rest, _ := strings.Cut(string(head), "Sec-WebSocket-Key: ")
	key, _, _ := strings.Cut(rest, "\r\n")
	io.WriteString(nc, response(key))
	nc.Close()
	d := wait(t, "the result of Dial", result)
	if d.conn != nil {
		d.conn.Cut()
	}
	return d.conn, d.err
}

func TestW1_The101IsCheckedStrictly(t *testing.T) {
	change := func(old, new string) func(string) string {
		return func(key string) string {
			good := string(wstest.Switching(key))
			bad := strings.Replace(good, old, new, 1)
			if bad == good {
				t.Fatalf("%q is not in %q", old, good)
			}
			return bad
		}
	}
	tests := map[string]func(key string) string{
		"wrong accept":     func(string) string { return string(wstest.Switching("dGhlIHNhbXBsZSBub25jZQ==")) },
		"no accept":        change("Sec-WebSocket-Accept", "X-Accept"),
		"two accepts":      change("Upgrade: ", "Sec-WebSocket-Accept: x\r\nUpgrade: "),
		"no upgrade":       change("Upgrade: websocket\r\n", ""),
		"another upgrade":  change("websocket", "h2c"),
		"no connection":    change("Connection: Upgrade\r\n", ""),
		"connection close": change("Connection: Upgrade", "Connection: close"),
		"an extension":     change("Upgrade: ", "Sec-WebSocket-Extensions: permessage-deflate\r\nUpgrade: "),
		"a subprotocol":    change("Upgrade: ", "Sec-WebSocket-Protocol: mcp\r\nUpgrade: "),
	}
	for name, response := range tests {
		t.Run(name, func(t *testing.T) {
			if c, err := answered(t, response); c != nil || !errors.Is(err, ErrHandshake) {
				t.Fatalf("got %v", err)
			}
		})
	}
	for name, response := range map[string]func(string) string{
		"as it is":    func(key string) string { return string(wstest.Switching(key)) },
		"other cases": change("Upgrade: websocket\r\nConnection: Upgrade", "upgrade: WebSocket\r\nCONNECTION: keep-alive, upgrade"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := answered(t, response); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAnAnswerThatIsNoHTTPIsAnError(t *testing.T) {
	for _, response := range []string{"", "hello\r\n\r\n", "HTTP/1.1 101 Switching", "HTTP/1.1 101 X\r\nA: " + strings.Repeat("b", 2*maxResponse) + "\r\n\r\n"} {
		c, err := answered(t, func(string) string { return response })
		var refused *RefusedError
		if c != nil || err == nil || errors.As(err, &refused) {
			t.Errorf("%.20q: got %v", response, err)
		}
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	ln := listener(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := dialing(ctx, "ws://"+ln.Addr().String()+"/", nil)
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	cancel()
	if d := wait(t, "the result of Dial", result); !errors.Is(d.err, context.Canceled) {
		t.Fatalf("got %v", d.err)
	}
	if _, err := Dial(ctx, "ws://"+ln.Addr().String()+"/", nil, &Config{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// The context bounds Dial only: what ends later does not end the connection.
func TestAConnectionOutlivesTheContextOfItsDial(t *testing.T) {
	ln := listener(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := dialing(ctx, "ws://"+ln.Addr().String()+"/", nil)
	p, _ := wstest.Accept(t, ln, nil)
	d := wait(t, "the connection", result)
	if d.err != nil {
		t.Fatal(d.err)
	}
	cancel()
	r := newRecorder()
	d.conn.Serve(r)
	p.Binary([]byte("still there"))
	same(t, r.message(t), []byte("still there"))
	p.Close(1000)
	p.FIN()
	r.clean(t, 1000)
}

func TestDialRefusesWhatMakesNoSense(t *testing.T) {
	ln := listener(t)
	at := "ws://" + ln.Addr().String()
	for url, header := range map[string]http.Header{
		"http://127.0.0.1/":   nil,
		"127.0.0.1:80":        nil,
		"ws:///path":          nil,
		"ws://%zz/":           nil,
		at + "/host":          {"Host": {"x"}},
		at + "/key":           {"Sec-Websocket-Key": {"x"}},
		at + "/subprotocol":   {"Sec-Websocket-Protocol": {"x"}},
		"ws://u:secret@h:1:2": nil,
	} {
		c, err := Dial(t.Context(), url, header, &Config{})
		if c != nil || err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", url, err)
		}
	}
}

func TestDialOverTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		c := New(nc, nil, &Config{})
		c.Prefix(AppendSwitching(nil, []byte(req.Header.Get("Sec-Websocket-Key"))))
		c.Append(nil, pattern(100_000))
		c.Flush()
		r := newRecorder()
		r.onMessage = func(b []byte) *Violation {
			c.Append(nil, b)
			c.Flush()
			return nil
		}
		c.Serve(r)
	}))
	srv.EnableHTTP2 = false
	srv.StartTLS()
	defer srv.Close()
	url := "wss" + strings.TrimPrefix(srv.URL, "https")
	if _, err := Dial(t.Context(), url, nil, &Config{}); err == nil {
		t.Fatal("an unknown certificate was accepted")
	}
	conf := srv.Client().Transport.(*http.Transport).TLSClientConfig
	c, err := Dial(t.Context(), url, nil, &Config{TLS: &tls.Config{RootCAs: conf.RootCAs}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	c.Serve(r)
	same(t, r.message(t), pattern(100_000))
	for _, n := range []int{0, 1, 125, 126, 70_000} {
		c.Append(pattern(n), nil)
		c.Flush()
		same(t, r.message(t), pattern(n))
	}
	c.Close(1000, "done")
	r.clean(t, 1000)
}
