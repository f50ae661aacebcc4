package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// gate is the outside half of a real gateway.
type gate struct {
	t        *testing.T
	mux      *mux.Mux
	addr     string
	heard    chan string
	shutdown func()
}

func newGate(t *testing.T) *gate {
	g := &gate{t: t, heard: make(chan string, 10_000)}
	g.mux = mux.New(mux.Config{NewSink: func(string) mux.Sink { return g }})
	handler := outside.New(outside.Config{Mux: g.mux, MaxMessage: 16 << 20, Logger: quiet})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.addr = ln.Addr().String()
	done := make(chan error, 1)
	go func() { done <- handler.Serve(ln) }()
	var once sync.Once
	g.shutdown = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := handler.Shutdown(ctx); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			if err := soon(t, done); err != nil {
				t.Errorf("serve: %v", err)
			}
			g.mux.Stop()
		})
	}
	t.Cleanup(g.shutdown)
	return g
}

// Notify implements mux.Sink.
func (g *gate) Notify(n codec.Notification) { g.heard <- string(n.Raw) }

type settlement struct {
	outcome mux.Outcome
	tag     codec.Tag
	body    string
}

type caller chan settlement

// Settle implements mux.Caller.
func (c caller) Settle(s mux.Settlement) {
	c <- settlement{s.Outcome, s.Answer.Tag, string(s.Answer.Body)}
}

func (g *gate) ask(container string, k codec.Kind, params string) (caller, *mux.Ask) {
	c := make(caller, 1)
	a, err := there(g.mux.Container(container)).Ask(k, []byte(params), c)
	if err != nil {
		panic(err)
	}
	return c, a
}

// serve answers a container from an Upstream.
func (g *gate) serve(container string, cfg Config) (*Upstream, *answer.Server) {
	u := open(g.t, cfg)
	return u, g.serveWith(container, u)
}

func (g *gate) serveWith(container string, h answer.Handler) *answer.Server {
	s := &answer.Server{Gateway: "ws://" + g.addr, Container: container, Handler: h, Logger: quiet}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	g.t.Cleanup(func() {
		cancel()
		if err := soon(g.t, done); err != nil {
			g.t.Error(err)
		}
	})
	return s
}

// until waits for what no channel tells.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("in time there was no %s", what)
		}
	}
}

func TestThroughARealGateway(t *testing.T) {
	g := newGate(t)
	site := newSite(t, served(t, newServer(nil), nil))
	_, server := g.serve("c1", Config{URL: site.url()})
	const arguments = `{"big":9007199254740993}`
	call := `{"name":"echo","arguments":` + arguments + `}`
	answered, _ := g.ask("c1", codec.CallTool, call)
	if got := soon(t, answered); got.outcome != mux.Answered || got.tag != codec.TagResult || text(t, got.body) != arguments {
		t.Fatalf("settled as %+v", got)
	}
	answered, _ = g.ask("c1", codec.CallTool, `{"name":"large"}`)
	if got := soon(t, answered); got.tag != codec.TagResult || len(got.body) < 3_000_000 {
		t.Fatalf("the large result settled as %v with %d bytes", got.outcome, len(got.body))
	}
	answered, _ = g.ask("c1", codec.CallTool, `{"name":"change"}`)
	soon(t, answered)
	if got := soon(t, g.heard); !strings.Contains(got, "notifications/tools/list_changed") {
		t.Fatalf("the gateway heard %s", got)
	}

	// The server goes: an error frame, and the path for notifications stays open.
	site.down()
	for unreachable := false; !unreachable; {
		answered, _ = g.ask("c1", codec.ListTools, "null")
		got := soon(t, answered)
		if got.outcome != mux.Answered || got.tag != codec.TagError || !strings.Contains(got.body, "upstream MCP server") {
			t.Fatalf("settled as %+v", got)
		}
		unreachable = strings.Contains(got.body, "cannot be reached")
	}
	site.up(served(t, newServer(nil), nil))
	changes(t, g.heard)
	answered, _ = g.ask("c1", codec.ListTools, "null")
	if got := soon(t, answered); got.tag != codec.TagResult {
		t.Fatalf("settled as %+v", got)
	}
	if n := server.Stats().Asks[codec.Notifications]; n != 1 {
		t.Errorf("notifications were asked for %d times, want once", n)
	}
}

func TestA10_ACancelledAskCancelsTheToolThroughARealGateway(t *testing.T) {
	g := newGate(t)
	box := newToolbox()
	g.serve("c1", Config{URL: newSite(t, served(t, newServer(box), nil)).url()})
	_, asked := g.ask("c1", codec.CallTool, `{"name":"wait","arguments":{"n":1}}`)
	soon(t, box.started)
	if !asked.Cancel() {
		t.Fatal("the ask could not be cancelled")
	}
	if got := soon(t, box.cancelled); got != `{"n":1}` {
		t.Fatalf("the tool call %s was cancelled", got)
	}
}

func TestManyContainersAndCallsEachExecutedOnce(t *testing.T) {
	const containers, calls = 5, 40
	g := newGate(t)
	var mu sync.Mutex
	executed := map[string]int{}
	server := &raw{}
	server.answer = func(w http.ResponseWriter, m message) {
		mu.Lock()
		executed[string(m.Params)]++
		mu.Unlock()
		m.result(w, `{"content":[],"of":`+string(m.Params)+`}`)
	}
	site := newSite(t, server)
	for c := range containers {
		g.serve(fmt.Sprint("c", c), Config{URL: site.url()})
	}
	var group sync.WaitGroup
	for c := range containers {
		for n := range calls {
			group.Go(func() {
				params := fmt.Sprintf(`{"c":%d,"n":%d}`, c, n)
				answered, _ := g.ask(fmt.Sprint("c", c), codec.CallTool, params)
				timer := time.NewTimer(patience)
				defer timer.Stop()
				select {
				case got := <-answered:
					if got.body != `{"content":[],"of":`+params+`}` {
						t.Errorf("%s settled as %+v", params, got)
					}
				case <-timer.C:
					t.Errorf("%s was not answered", params)
				}
			})
		}
	}
	group.Wait()
	if len(executed) != containers*calls {
		t.Errorf("%d calls were executed, want %d", len(executed), containers*calls)
	}
	for params, n := range executed {
		if n != 1 {
			t.Errorf("%s was executed %d times", params, n)
		}
	}
}

func TestContainersOfARealGatewayShareASession(t *testing.T) {
	const containers, calls, notifications = 30, 10, 100
	g := newGate(t)
	server := &raw{answer: func(w http.ResponseWriter, m message) { m.result(w, `{"content":[],"of":`+string(m.Params)+`}`) }}
	begin := make(chan struct{})
	server.stream = func(w http.ResponseWriter, req *http.Request) {
		send := events(w)
		select {
		case <-begin:
		case <-req.Context().Done():
			return
		}
		for i := range notifications {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"n":%d}}`, i))
		}
		<-req.Context().Done()
	}
	s := openShared(t, nil, Config{URL: newSite(t, server).url()})
	for c := range containers {
		g.serveWith(fmt.Sprint("c", c), s.For(fmt.Sprint("c", c)))
	}
	var group sync.WaitGroup
	for c := range containers {
		for n := range calls {
			group.Go(func() {
				params := fmt.Sprintf(`{"c":%d,"n":%d}`, c, n)
				answered, _ := g.ask(fmt.Sprint("c", c), codec.CallTool, params)
				timer := time.NewTimer(patience)
				defer timer.Stop()
				select {
				case got := <-answered:
					if got.body != `{"content":[],"of":`+params+`}` {
						t.Errorf("%s settled as %+v", params, got)
					}
				case <-timer.C:
					t.Errorf("%s was not answered", params)
				}
			})
		}
	}
	group.Wait()
	until(t, "path of every container", func() bool { return s.Stats().Paths == containers })
	close(begin)
	heard := map[string]int{}
	for range containers * notifications {
		heard[soon(t, g.heard)]++
	}
	for i := range notifications {
		n := fmt.Sprintf(`{"method":"notifications/resources/list_changed","params":{"n":%d}}`, i)
		if heard[n] != containers {
			t.Errorf("%s was heard by %d containers, want %d", n, heard[n], containers)
		}
	}
	if got := s.Stats(); got.Sessions != 1 || got.Dropped != 0 || got.Calls != containers*calls {
		t.Errorf("stats %+v", got)
	}
}

func TestAGatewayThatGoesEndsItsCalls(t *testing.T) {
	g := newGate(t)
	box := newToolbox()
	u := open(t, Config{URL: newSite(t, served(t, newServer(box), nil)).url()})
	lost := make(chan error, 100)
	s := &answer.Server{Gateway: "ws://" + g.addr, Container: "c1", Handler: u, Logger: quiet,
		Hooks: answer.Hooks{Disconnected: func(err error) { lost <- err }}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	g.ask("c1", codec.CallTool, `{"name":"wait","arguments":{"n":1}}`)
	soon(t, box.started)
	g.shutdown() // ends the path under the call, and /requests
	soon(t, box.cancelled)
	var disconnected *answer.DisconnectedError
	if err := soon(t, lost); !errors.As(err, &disconnected) {
		t.Errorf("disconnected by %v", err)
	}
	cancel()
	if err := soon(t, done); err != nil {
		t.Error(err)
	}
}

// there is a container that no limit refused.
func there(c *mux.Container, err error) *mux.Container {
	if err != nil {
		panic(err)
	}
	return c
}
