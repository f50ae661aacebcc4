package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// memory is a server in the test's hands, without any I/O: what the upstream writes comes out of messages, but for the
// handshake, and what the server says goes in by the methods.
type memory struct {
	messages chan *jsonrpc.Request
	links    chan *memoryLink // each connection
	link     *memoryLink      // the last taken from links

	modern       bool          // it is stateless
	mute         bool          // it acknowledges no subscription
	initialized  time.Duration // how long it takes to take the notification
	subscription atomic.Int64  // the newest
	replies      chan *jsonrpc.Response
}

type memoryLink struct {
	server *memory
	in     chan jsonrpc.Message
	lost   context.Context
	lose   context.CancelCauseFunc
}

func newMemory() *memory {
	return &memory{
		messages: make(chan *jsonrpc.Request, 100_000),
		links:    make(chan *memoryLink, 100),
		replies:  make(chan *jsonrpc.Response, 100_000),
	}
}

func (m *memory) dial(context.Context, *slog.Logger) (link, error) {
	l := &memoryLink{server: m, in: make(chan jsonrpc.Message, 100_000)}
	l.lost, l.lose = context.WithCancelCause(context.Background())
	m.links <- l
	return l, nil
}

func (m *memory) String() string { return "memory" }
func (m *memory) close()         {}

func (l *memoryLink) read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-l.in:
		return msg, nil
	case <-l.lost.Done():
		return nil, context.Cause(l.lost)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *memoryLink) write(ctx context.Context, msg jsonrpc.Message) error {
	request, ok := msg.(*jsonrpc.Request)
	switch {
	case l.lost.Err() != nil:
		return &brokenError{cause: context.Cause(l.lost)}
	case !ok:
		l.server.replies <- msg.(*jsonrpc.Response)
	case request.Method == "notifications/initialized":
		select {
		case <-time.After(l.server.initialized):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case request.Method == methodListen && l.server.modern:
		id := request.ID.Raw().(int64)
		l.server.subscription.Store(id)
		if !l.server.mute {
			l.in <- &jsonrpc.Request{Method: methodAcknowledged, Params: fmt.Appendf(nil,
				`{"_meta":{"io.modelcontextprotocol/subscriptionId":%d},"notifications":{"toolsListChanged":true}}`, id)}
		}
	case request.Method == methodDiscover && l.server.modern:
		l.in <- &jsonrpc.Response{ID: request.ID, Result: json.RawMessage(discovered)}
	case request.Method == methodDiscover:
		l.in <- &jsonrpc.Response{ID: request.ID, Error: &jsonrpc.Error{Code: -32601, Message: "unknown method"}}
	case request.Method == "initialize":
		l.in <- &jsonrpc.Response{ID: request.ID, Result: json.RawMessage(`{"protocolVersion":"` + offered + `","serverInfo":{"name":"memory","version":"0"}}`)}
	default:
		copied := *request
		copied.Params = append(json.RawMessage(nil), request.Params...)
		l.server.messages <- &copied
	}
	return nil
}

func (l *memoryLink) negotiated(string, *toolheader.Tools) {}
func (l *memoryLink) established(*session)                 {}
func (l *memoryLink) streamEach() bool                     { return false }
func (l *memoryLink) close()                               { l.lose(io.EOF) }

// next is the next message of the upstream, which must be of this method.
func (m *memory) next(t *testing.T, method string) *jsonrpc.Request {
	t.Helper()
	got := soon(t, m.messages)
	if got.Method != method {
		t.Fatalf("the server got %s %s, want %s", got.Method, got.Params, method)
	}
	return got
}

func (m *memory) to() *memoryLink {
	select {
	case m.link = <-m.links:
	default:
	}
	return m.link
}

func (m *memory) answer(to *jsonrpc.Request, result string) {
	m.to().in <- &jsonrpc.Response{ID: to.ID, Result: json.RawMessage(result)}
}

func (m *memory) notify(method, params string) {
	m.to().in <- &jsonrpc.Request{Method: method, Params: json.RawMessage(params)}
}

// demand is a request of the server's own.
func (m *memory) demand(id int64, method string) {
	m.to().in <- &jsonrpc.Request{ID: makeID(id), Method: method}
}

// crash loses the session.
func (m *memory) crash() { m.to().lose(errors.New("the server crashed")) }

// openShared opens a Shared; from server, if it is not nil.
func openShared(t *testing.T, server *memory, cfg Config) *Shared {
	t.Helper()
	if cfg.URL == "" && cfg.Command == nil {
		cfg.URL = "http://127.0.0.1:1/mcp"
	}
	s, err := NewShared(cfg.unhurried())
	if err != nil {
		t.Fatal(err)
	}
	if server != nil {
		s.dialer = server
	}
	s.jitter = func() float64 { return 0.1 }
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
