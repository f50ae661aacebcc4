package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/gateway"
	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/answer/upstream"
	"github.com/diverge-network/gateway/pkg/mux"
)

// numbered is a small MCP server over Streamable HTTP, by hand: its tool says back what it was told, and its one event
// stream brings numbered notifications when it is told to.
type numbered struct {
	executed func(text string)
	notify   chan int // numbers to send
}

func (n *numbered) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case i := <-n.notify:
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%d}}\n\n", i)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case http.MethodPost:
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Text string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		result := `{"tools":[]}`
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "the-one-session")
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"numbered","version":"1"}}`
		case "tools/call":
			n.executed(m.Params.Arguments.Text)
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, m.Params.Arguments.Text)
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
}

// startFleet serves every container of g from one session with the MCP server at url, until the test ends.
func startFleet(t *testing.T, g *gateway.Gateway, url string) {
	t.Helper()
	shared, err := upstream.NewShared(upstream.Config{URL: url, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	fleet := &answer.Fleet{
		Gateway: "ws://" + g.OutsideAddr().String(),
		Handler: func(id string) (answer.Handler, func(), error) { return shared.For(id), nil, nil },
		Logger:  quiet,
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := fleet.Run(ctx); err != nil {
			t.Errorf("fleet: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		ended.Wait()
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
}

// agent is a container's MCP client, by hand: an SDK session for each of hundreds would measure the SDK.
type agent struct {
	t       *testing.T
	url     string
	session string
	http    *http.Client
}

func (a *agent) post(body string) (reply []byte) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(deadline(a.t), http.MethodPost, a.url, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if a.session != "" {
		r.Header.Set("Mcp-Session-Id", a.session)
	}
	response, err := a.http.Do(r)
	if err != nil {
		a.t.Error(err)
		return nil
	}
	defer response.Body.Close()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		a.session = id
	}
	reply, err = io.ReadAll(response.Body)
	if err != nil {
		a.t.Error(err)
	}
	return reply
}

// listen opens the event stream, and passes on the numbers of the notifications until the stream ends.
func (a *agent) listen(ctx context.Context, heard func(number int)) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", a.session)
	response, err := a.http.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	go func() {
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			event, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok {
				continue
			}
			var m struct{ Params struct{ Data int } }
			if err := json.Unmarshal(event, &m); err != nil {
				a.t.Errorf("%s: %v", event, err)
			}
			heard(m.Params.Data)
		}
	}()
}

func TestOneServerAnswersAFleetAndEachContainerHearsEveryNotificationInOrder(t *testing.T) {
	// All containers call at the same time, each with this many calls in flight: all 10,000 at once would take a descriptor
	// for each end of each caller's connection and of each answer path, 40,000 in this one process.
	const containers, calls, inFlight, notifications = 200, 50, 8, 100
	executed := make([]atomic.Int32, containers*calls)
	server := &numbered{notify: make(chan int), executed: func(text string) {
		var container, call int
		if _, err := fmt.Sscanf(text, "container %d call %d", &container, &call); err != nil {
			t.Errorf("an unknown call was executed: %q", text)
			return
		}
		executed[container*calls+call].Add(1)
	}}
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	g := startGateway(t, func(c *gateway.Config) { c.SSEAfter = mux.Never }) // the agents read JSON, however long it takes
	startFleet(t, g, h.URL)

	transport := &http.Transport{MaxIdleConnsPerHost: 1024}
	t.Cleanup(transport.CloseIdleConnections)
	ctx, leave := context.WithCancel(context.Background())
	t.Cleanup(leave)
	agents := make([]*agent, containers)
	heard := make([]chan int, containers)
	for i := range agents {
		a := &agent{t: t, url: fmt.Sprintf("http://%s/containers/f%d/mcp", g.InsideAddr(), i), http: &http.Client{Transport: transport}}
		a.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}`)
		heard[i] = make(chan int, 2*notifications)
		a.listen(ctx, func(number int) { heard[i] <- number })
		agents[i] = a
	}

	var ended sync.WaitGroup
	for i, a := range agents {
		var turn atomic.Int32
		for range inFlight {
			ended.Go(func() {
				for j := turn.Add(1); j <= calls; j = turn.Add(1) {
					said := fmt.Sprintf("container %d call %d", i, j-1)
					reply := a.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":%q}}}`, j, said))
					if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, j, said); string(reply) != want {
						t.Errorf("%s was answered with %q", said, reply)
					}
				}
			})
		}
	}
	ended.Wait()
	for i := range executed {
		if n := executed[i].Load(); n != 1 {
			t.Errorf("container %d call %d was executed %d times", i/calls, i%calls, n)
		}
	}
	if t.Failed() {
		return
	}

	// Nothing is replayed (protocol N5): first all notifications paths have to be open. What is sent until every container
	// has heard one bears the number 0.
	for i, c := range heard {
		for patient := time.After(patience); len(c) == 0; {
			select {
			case server.notify <- 0:
			case <-patient:
				t.Fatalf("container %d heard nothing", i)
			}
			select {
			case zero := <-c:
				c <- zero
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	for i := range notifications {
		server.notify <- i + 1
	}
	for i, c := range heard {
		for next := 1; next <= notifications; {
			select {
			case number := <-c:
				if number == 0 && next == 1 {
					continue
				}
				if number != next {
					t.Fatalf("container %d heard %d, want %d", i, number, next)
				}
				next++
			case <-time.After(patience):
				t.Fatalf("container %d did not hear notification %d", i, next)
			}
		}
	}
}
