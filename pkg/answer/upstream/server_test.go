package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolbox is what a test sees and does inside the server's tools; nil in the helper process.
type toolbox struct {
	started   chan string   // a tool has begun
	cancelled chan string   // a tool's context ended
	release   chan struct{} // lets waiting tools go on
}

func newToolbox() *toolbox {
	return &toolbox{started: make(chan string, 100), cancelled: make(chan string, 100), release: make(chan struct{})}
}

// newServer is a real MCP server of the SDK.
func newServer(box *toolbox) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "real", Version: "1.2"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{ListChanged: true},
		},
	})
	add := func(name string, run func(ctx context.Context, req *mcp.CallToolRequest) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","additionalProperties":true}`)},
			func(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
				text, err := run(ctx, req)
				if err != nil {
					return nil, nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
			})
	}
	add("echo", func(_ context.Context, req *mcp.CallToolRequest) (string, error) {
		return string(req.Params.Arguments), nil
	})
	add("large", func(context.Context, *mcp.CallToolRequest) (string, error) {
		return strings.Repeat("0123456789", 300_000), nil
	})
	add("exit", func(context.Context, *mcp.CallToolRequest) (string, error) { os.Exit(7); return "", nil })
	add("change", func(context.Context, *mcp.CallToolRequest) (string, error) {
		s.AddTool(&mcp.Tool{Name: "added", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		return "changed", nil
	})
	add("progress", func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
		for i := range 50 {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	add("linger", func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
		fmt.Fprintln(os.Stderr, "lingering")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "lingered enough")
		return "", ctx.Err()
	})
	add("ask-back", func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := req.Session.Ping(ctx, nil); err != nil {
			return "", fmt.Errorf("ping: %w", err)
		}
		return "ping ok", nil
	})
	if box != nil {
		add("wait", func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
			box.started <- string(req.Params.Arguments)
			select {
			case <-ctx.Done():
				box.cancelled <- string(req.Params.Arguments)
				return "", ctx.Err()
			case <-box.release:
				return "released", nil
			case <-time.After(patience): // a session's Close waits for its tools, also when a test has failed
				return "", errors.New("nobody has released the tool")
			}
		})
	}
	s.AddResource(&mcp.Resource{Name: "r", URI: "test:r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test:r", Text: "contents"}}}, nil
	})
	return s
}

// site is an HTTP server on one address that can go away and come back.
type site struct {
	t    *testing.T
	addr string
	http *http.Server
	done chan error
}

func newSite(t *testing.T, h http.Handler) *site {
	s := &site{t: t, addr: "127.0.0.1:0"}
	s.up(h)
	t.Cleanup(s.down)
	return s
}

func (s *site) url() string { return "http://" + s.addr + "/mcp" }

// up serves h; every session before it is unknown to it.
func (s *site) up(h http.Handler) {
	s.t.Helper()
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	s.http = &http.Server{Handler: h}
	s.done = make(chan error, 1)
	go func(server *http.Server, done chan<- error) { done <- server.Serve(ln) }(s.http, s.done)
}

// down ends the server and every connection to it.
func (s *site) down() {
	if s.http == nil {
		return
	}
	s.http.Close()
	if err := <-s.done; !errors.Is(err, http.ErrServerClosed) {
		s.t.Error(err)
	}
	s.http = nil
}

// served is the SDK's HTTP handler for one server, whose sessions are closed with the test.
func served(t *testing.T, server *mcp.Server, options *mcp.StreamableHTTPOptions) http.Handler {
	t.Cleanup(func() {
		for session := range server.Sessions() {
			session.Close()
		}
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
}

// recorder keeps what requests a handler got.
type recorder struct {
	http.Handler
	mu       sync.Mutex
	requests []*http.Request
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.requests = append(r.requests, req)
	r.mu.Unlock()
	r.Handler.ServeHTTP(w, req)
}

func (r *recorder) all() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*http.Request(nil), r.requests...)
}
