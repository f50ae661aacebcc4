package answer

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

func TestFieldsThatMakeNoSenseAreRefused(t *testing.T) {
	h := fixed(`{}`, nil)
	for _, c := range []struct {
		s    *Server
		want string
	}{
		{&Server{Gateway: "ws://h"}, "Handler"},
		{&Server{Gateway: "http://h", Handler: h}, "ws://"},
		{&Server{Gateway: "ws://", Handler: h}, "ws://"},
		{&Server{Gateway: "", Handler: h}, "ws://"},
		{&Server{Gateway: "ws://h:x", Handler: h}, "Gateway"},
		{&Server{Gateway: "ws://h/?a=b", Handler: h}, "query"},
		{&Server{Gateway: "ws://h", Container: ".x", Handler: h}, "Container"},
		{&Server{Gateway: "ws://h", Container: "a/b", Handler: h}, "Container"},
		{&Server{Gateway: "ws://h", Container: strings.Repeat("a", 129), Handler: h}, "Container"},
	} {
		err := c.s.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("gateway %q, container %q: %v, want a word about %s", c.s.Gateway, c.s.Container, err, c.want)
		}
	}
}

func TestAnAnswerThatBecomesReadyWhileRunEndsIsSent(t *testing.T) {
	called, release := make(chan struct{}), make(chan struct{})
	p, line, r := answering(t, handler{answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
		close(called)
		<-release
		return []byte(`{"content":[]}`), ctx.Err()
	}})
	r.Drain = time.Hour // read when the drain begins
	line.Binary(ask(1, codec.CallTool, "{}"))
	path := next(t, p.paths).accept()
	soon(t, called)
	r.stop()
	if code, _ := line.ReadClose(); code != 1000 {
		t.Fatalf("/requests was closed with %d", code)
	}
	line.Close(1000)
	r.line = nil
	close(release)
	path.ReadBinary()
	path.ReadClose()
	path.Close(1000)
	r.stopped()
	if n := r.Stats().Outcomes[codec.CallTool][Answered]; n != 1 {
		t.Fatalf("%d answered, want 1", n)
	}
}

func TestA6_AnEndedRunDoesNotStateThatItsCallsAreNotServed(t *testing.T) {
	called := make(chan struct{})
	p, line, r := answering(t, handler{answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
		close(called)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	r.Drain = time.Nanosecond
	line.Binary(ask(1, codec.CallTool, "{}"))
	path := next(t, p.paths).accept()
	soon(t, called)
	r.stopped()
	path.ReadGone() // without a Close: it is asked again
	if n := r.Stats().Outcomes[codec.CallTool][Abandoned]; n != 1 {
		t.Fatalf("%d abandoned, want 1", n)
	}
}

func TestN4_AnEndedRunClosesItsNotificationsPathCleanly(t *testing.T) {
	path, r := notifying(t, func(ctx context.Context, send func([]byte) error) error {
		if err := send([]byte(`{"method":"m"}`)); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	path.ReadBinary()
	go func() { // answers the Close, which Run waits for
		for {
			f, err := path.Next()
			if err != nil {
				return
			}
			if f.Op == wstest.OpClose {
				path.Close(1000)
				return
			}
		}
	}()
	r.stopped()
	if n := r.Stats().Outcomes[codec.Notifications][Answered]; n != 1 {
		t.Fatalf("%d paths closed cleanly, want 1", n)
	}
}

func TestManyAsksAreServedAtOnce(t *testing.T) {
	const many = 200
	var all sync.WaitGroup
	all.Add(many)
	p, line, r := answering(t, handler{answer: func(_ context.Context, _ codec.Kind, params []byte) ([]byte, error) {
		all.Done()
		all.Wait() // returns only if all of them run at the same time
		return append([]byte(nil), params...), nil
	}})
	for i := range uint32(many) {
		line.Binary(ask(i+1, codec.CallTool, fmt.Sprintf(`{"n":%d}`, i+1)))
	}
	peers := make(map[string]*wstest.Peer)
	for range many {
		a := next(t, p.paths)
		peers[a.req.URL.Path] = a.accept()
	}
	for path, peer := range peers {
		_, channel, _ := codec.ParsePath([]byte(strings.TrimPrefix(path, "/containers/c1")))
		if got, want := string(peer.ReadBinary()), fmt.Sprintf("\x00"+`{"n":%d}`, channel); got != want {
			t.Errorf("channel %d is answered with %q", channel, got)
		}
		peer.ReadClose()
		peer.Close(1000)
	}
	r.stopped()
	if s := r.Stats(); s.Outcomes[codec.CallTool][Answered] != many || s.Open != 0 {
		t.Fatalf("%d answered, %d open", s.Outcomes[codec.CallTool][Answered], s.Open)
	}
}

func TestHooksTellWhatHappens(t *testing.T) {
	exchanged, connected := make(chan struct{}), make(chan struct{}, 2)
	var mu sync.Mutex
	var told []string
	tell := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	}
	p := newProxy(t)
	r := run1(t, &Server{Gateway: p.url(), Container: "c1", Handler: fixed(`{"tools":[]}`, nil), Logger: quiet, Hooks: Hooks{
		Connected:    func() { tell("connected"); connected <- struct{}{} },
		Disconnected: func(err error) { tell(fmt.Sprint("disconnected: ", err)) },
		Exchanged:    func(k codec.Kind, o Outcome, _ time.Duration) { tell(fmt.Sprint(k, " ", o)); close(exchanged) },
	}, jitter: func() float64 { return 0 }})
	next(t, p.requests).refuse(409)
	line := next(t, p.requests).accept()
	line.Binary(ask(1, codec.ListTools, "null"))
	taken(t, p, "/containers/c1/mcp/list-tools/1")
	soon(t, exchanged)
	soon(t, connected)
	line.Close(1012)
	line.ReadClose()
	r.line = next(t, p.requests).accept()
	soon(t, connected)
	r.stopped()
	mu.Lock()
	defer mu.Unlock()
	got := strings.Join(told, "\n")
	for _, want := range []string{
		"disconnected: dial ws://", "with 409: no\nconnected\n", "list-tools answered",
		"disconnected: the gateway closed the connection for asks with status 1012\nconnected\ndisconnected: <nil>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the hooks did not tell %q:\n%s", want, got)
		}
	}
}

func TestWssAndHeaders(t *testing.T) {
	heard := make(chan string, 1)
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		heard <- req.URL.Path + " " + req.Header.Get("Authorization")
		nc, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		if _, err := nc.Write(wstest.Switching(req.Header.Get("Sec-WebSocket-Key"))); err != nil {
			return
		}
		if f, err := wstest.ReadFrame(bufio.NewReader(rw)); err == nil && f.Op == wstest.OpClose {
			_, _ = nc.Write(wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpClose, Payload: f.Payload}))
		}
	}))
	defer gateway.Close()
	roots := x509.NewCertPool()
	roots.AddCert(gateway.Certificate())
	connected := make(chan struct{})
	r := run1(t, &Server{
		Gateway: "wss" + strings.TrimPrefix(gateway.URL, "https") + "/", Container: "c1", Handler: fixed(`{}`, nil), Logger: quiet,
		Header: http.Header{"Authorization": {"Bearer x"}}, TLS: &tls.Config{RootCAs: roots},
		Hooks: Hooks{Connected: func() { close(connected) }},
	})
	if got := soon(t, heard); got != "/containers/c1/requests Bearer x" {
		t.Fatalf("the gateway heard %q", got)
	}
	soon(t, connected)
	r.stopped()
}
