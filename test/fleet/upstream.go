package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// upstream is the MCP server that the fleet's calls end at: Streamable HTTP by hand, which costs little. Its one tool
// answers with what it was told.
type upstream struct {
	url      string
	padding  string // of each notification
	server   *http.Server
	served   chan error
	executed atomic.Int64 // calls

	notifier sync.WaitGroup
	quiet    context.CancelFunc

	mu      sync.Mutex
	number  uint64 // of the last notification
	streams map[chan uint64]struct{}
}

// streamAhead is how many notifications may wait for a stream. One that falls behind is ended, as it has missed some.
const streamAhead = 1024

const sessionHeader = "Mcp-Session-Id"

func startUpstream(every time.Duration, padding int) (*upstream, error) {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, quiet := context.WithCancel(context.Background())
	u := &upstream{
		url:     "http://" + l.Addr().String() + "/mcp",
		padding: strings.Repeat("x", padding),
		served:  make(chan error, 1),
		quiet:   quiet,
		streams: make(map[chan uint64]struct{}),
	}
	u.server = &http.Server{Handler: u, ReadHeaderTimeout: 10 * time.Second}
	go func() { u.served <- u.server.Serve(l) }()
	u.notifier.Go(func() { u.notify(ctx, every) })
	return u, nil
}

// silence ends the notifications, and returns the number of the last one.
func (u *upstream) silence() uint64 {
	u.quiet()
	u.notifier.Wait()
	return u.newest()
}

// newest is the number of the last notification.
func (u *upstream) newest() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.number
}

func (u *upstream) close() error {
	u.silence()
	err := u.server.Close()
	if served := <-u.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func (u *upstream) notify(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			u.notifyOnce()
		case <-ctx.Done():
			return
		}
	}
}

func (u *upstream) notifyOnce() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.number++
	for stream := range u.streams {
		select {
		case stream <- u.number:
		default:
			delete(u.streams, stream)
			close(stream)
		}
	}
}

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		u.post(w, r)
	case http.MethodGet:
		u.stream(w, r)
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (u *upstream) post(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments struct {
				Say string `json:"say"`
			} `json:"arguments"`
		} `json:"params"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var result any
	switch m.Method {
	case "initialize":
		w.Header().Set(sessionHeader, "fleet")
		result = map[string]any{
			"protocolVersion": revision,
			"capabilities":    map[string]any{"tools": map[string]any{}, "logging": map[string]any{}},
			"serverInfo":      map[string]any{"name": "fleet", "version": "1"},
		}
	case "tools/call":
		u.executed.Add(1)
		result = toolResult{Content: []content{{Type: "text", Text: m.Params.Arguments.Say}}}
	case "ping":
		result = struct{}{}
	default:
		http.Error(w, "no such method", http.StatusNotFound)
		return
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // a caller that went needs none
}

// stream is the standalone event stream. A notification says only its number.
func (u *upstream) stream(w http.ResponseWriter, r *http.Request) {
	numbers := make(chan uint64, streamAhead)
	u.mu.Lock()
	u.streams[numbers] = struct{}{}
	u.mu.Unlock()
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.streams, numbers)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	for err := flush(); err == nil; {
		select {
		case n, ok := <-numbers:
			if !ok {
				return
			}
			_, err = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"%s","data":%d}}`+"\n\n", u.padding, n)
			err = errors.Join(err, flush())
		case <-r.Context().Done():
			return
		}
	}
}
