package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// upstream is the MCP server behind gateway answer: Streamable HTTP by hand, with sessions and one tool.
type upstream struct {
	ledger  *ledger
	fault   func(format string, args ...any)
	address string

	server *http.Server
	served chan error

	mu       sync.Mutex
	sessions map[string]bool
}

func newUpstream(l *ledger, fault func(string, ...any)) *upstream {
	return &upstream{ledger: l, fault: fault, address: "127.0.0.1:0"}
}

func (u *upstream) url() string { return "http://" + u.address + "/mcp" }

// start begins to serve, where it did before, and knows no session.
func (u *upstream) start() error {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", u.address)
	if err != nil {
		return err
	}
	u.address = l.Addr().String()
	u.mu.Lock()
	u.sessions = make(map[string]bool)
	u.mu.Unlock()
	u.server = &http.Server{Handler: u, ReadHeaderTimeout: 10 * time.Second}
	u.served = make(chan error, 1)
	go func(s *http.Server, served chan<- error) { served <- s.Serve(l) }(u.server, u.served)
	return nil
}

// stop ends all connections.
func (u *upstream) stop() error {
	err := u.server.Close()
	if served := <-u.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func (u *upstream) begin() (session string) {
	session = fmt.Sprintf("%016x", rand.Uint64())
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sessions[session] = true
	return session
}

func (u *upstream) knows(session string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sessions[session]
}

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		u.post(w, r)
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

const largestBody = 8 << 20

func (u *upstream) post(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params params          `json:"params"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, largestBody))
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.Method != "initialize" && !u.knows(r.Header.Get(sessionHeader)) {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var result any
	switch m.Method {
	case "initialize":
		w.Header().Set(sessionHeader, u.begin())
		result = map[string]any{
			"protocolVersion": sessions,
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "faults", "version": "1"},
		}
	case "tools/call":
		said := m.Params.Arguments
		held, err := u.ledger.execute(said.Say)
		if err != nil {
			u.fault("%v", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		rest(r.Context(), time.Duration(said.Millis)*time.Millisecond)
		result = resultOf(said.Say)
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
	w.Header().Set("Content-Type", mediaJSON)
	_, _ = w.Write(answer) // a caller that went needs none
}
