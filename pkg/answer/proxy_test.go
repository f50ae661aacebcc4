package answer

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// proxy is the gateway's side, played by the test: every upgrade the server asks for is an arrival to accept or refuse.
type proxy struct {
	t        *testing.T
	ln       net.Listener
	requests chan *arrival // /requests
	paths    chan *arrival // answer paths
	lists    chan *arrival // /containers
}

type arrival struct {
	t   *testing.T
	nc  *net.TCPConn
	req *http.Request
}

func newProxy(t *testing.T) *proxy {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, ln: ln, requests: make(chan *arrival, 1000), paths: make(chan *arrival, 1000), lists: make(chan *arrival, 10)}
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			readers.Go(func() { p.arrive(nc.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		readers.Wait()
		close(p.requests)
		close(p.paths)
		close(p.lists)
		for a := range p.requests {
			a.nc.Close()
		}
		for a := range p.paths {
			a.nc.Close()
		}
		for a := range p.lists {
			a.nc.Close()
		}
	})
	return p
}

func (p *proxy) arrive(nc *net.TCPConn) {
	req, err := http.ReadRequest(bufio.NewReader(nc))
	if err != nil {
		nc.Close()
		return
	}
	a := &arrival{t: p.t, nc: nc, req: req}
	switch {
	case strings.HasSuffix(req.URL.Path, "/requests"):
		p.requests <- a
	case strings.HasSuffix(req.URL.Path, "/containers"):
		p.lists <- a
	default:
		p.paths <- a
	}
}

func (p *proxy) url() string { return "ws://" + p.ln.Addr().String() }

func (a *arrival) accept() *wstest.Peer {
	a.t.Helper()
	if _, err := a.nc.Write(wstest.Switching(a.req.Header.Get("Sec-Websocket-Key"))); err != nil {
		a.t.Fatal(err)
	}
	return wstest.Wrap(a.t, a.nc, false)
}

func (a *arrival) refuse(status int) {
	fmt.Fprintf(a.nc, "HTTP/1.1 %d %s\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n", status, http.StatusText(status))
	a.nc.Close()
}

// next is the next arrival; the test fails if there is none in time.
func next(t *testing.T, from <-chan *arrival) *arrival {
	t.Helper()
	return soon(t, from)
}

// soon receives, and fails the test if nothing comes in time.
func soon[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wstest.Patience)
	defer cancel()
	select {
	case v := <-from: // or the zero value: channels that only signal are closed
		return v
	case <-ctx.Done():
		t.Fatal("nothing came in time")
		panic("unreachable")
	}
}

func ask(channel uint32, k codec.Kind, payload string) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, channel), byte(k)), payload...)
}

// handler is a Handler made of two functions.
type handler struct {
	answer func(ctx context.Context, k codec.Kind, params []byte) ([]byte, error)
	notify func(ctx context.Context, send func([]byte) error) error
}

func (h handler) Answer(ctx context.Context, k codec.Kind, params []byte) ([]byte, error) {
	return h.answer(ctx, k, params)
}

func (h handler) Notifications(ctx context.Context, send func([]byte) error) error {
	if h.notify == nil {
		<-ctx.Done()
		return nil
	}
	return h.notify(ctx, send)
}

// fixed answers every ask with the same result and error.
func fixed(result string, err error) handler {
	return handler{answer: func(context.Context, codec.Kind, []byte) ([]byte, error) { return []byte(result), err }}
}

// running is a Server under test.
type running struct {
	*Server
	t    *testing.T
	stop context.CancelFunc
	done chan error
	once sync.Once
	line *wstest.Peer // its /requests connection, which answers the Close at the end; may be nil
}

// start runs a server for container "c1"; it is stopped with the test at the latest.
func start(t *testing.T, p *proxy, h Handler) *running {
	return run1(t, &Server{Gateway: p.url(), Container: "c1", Handler: h, Logger: quiet, jitter: func() float64 { return 0 }})
}

func run1(t *testing.T, s *Server) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Server: s, t: t, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	t.Cleanup(r.stopped)
	return r
}

// stopped ends Run and waits for it.
func (r *running) stopped() {
	r.once.Do(func() {
		r.stop()
		if r.line != nil {
			for {
				f, err := r.line.Next()
				if err != nil {
					break
				}
				if f.Op == wstest.OpClose {
					if f.CloseCode() != 1000 {
						r.t.Errorf("/requests was closed with %d", f.CloseCode())
					}
					r.line.Close(1000)
					break
				}
			}
		}
		if err := soon(r.t, r.done); err != nil {
			r.t.Errorf("Run returned %v", err)
		}
	})
}

var quiet = slog.New(slog.DiscardHandler)

// answering is the fake proxy and a running server whose /requests connection is open.
func answering(t *testing.T, h Handler) (*proxy, *wstest.Peer, *running) {
	p := newProxy(t)
	r := start(t, p, h)
	r.line = next(t, p.requests).accept()
	return p, r.line, r
}

// taken reads a whole answer: the path, its one message, the clean close.
func taken(t *testing.T, p *proxy, path string) []byte {
	t.Helper()
	a := next(t, p.paths)
	if a.req.URL.Path != path {
		t.Fatalf("the path opened is %s, want %s", a.req.URL.Path, path)
	}
	peer := a.accept()
	message := peer.ReadBinary()
	if code, _ := peer.ReadClose(); code != 1000 {
		t.Fatalf("the path was closed with %d, want 1000", code)
	}
	peer.Close(1000)
	return message
}
