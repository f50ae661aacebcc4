package inside

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkClient connects the official Go SDK's client to a container.
func (w *world) sdkClient(ctx context.Context, path, revision string, options *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, options)
	transport := &mcp.StreamableClientTransport{Endpoint: "http://" + w.addr + path, HTTPClient: &http.Client{Transport: newClient(w.t).Transport}}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		w.t.Fatalf("revision %q: %v", revision, err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

// TestOfficialClient has the SDK's client begin a session of each revision, and
// make each exchange.
func TestOfficialClient(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run("revision "+revision, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := w.provide("c1")
			heard := make(chan struct{}, 1)
			session := w.sdkClient(ctx, "/containers/c1/mcp", revision, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- struct{}{} },
			})
			if got := session.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("negotiated %s, want %s", got, revision)
			}
			if err := session.Ping(ctx, nil); err != nil {
				t.Error(err)
			}

			listed := make(chan error, 1)
			go func() {
				_, err := session.ListTools(ctx, nil)
				listed <- err
			}()
			p.echoOne(p.next())
			if err := <-listed; err != nil {
				t.Error(err)
			}

			called := make(chan string, 1)
			go func() {
				result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"x": "é"}})
				if err != nil {
					called <- err.Error()
					return
				}
				called <- result.Content[0].(*mcp.TextContent).Text
			}()
			p.echoOne(p.next())
			var params struct {
				Name      string
				Arguments struct{ X string }
			}
			if got := <-called; json.Unmarshal([]byte(got), &params) != nil || params.Name != "echo" || params.Arguments.X != "é" {
				t.Errorf("the call came back as %s", got)
			}

			await(t, "the client's stream", func() bool { return w.streams.Streams.Load() == 1 })
			p.notify(toolsChanged)
			select {
			case <-heard:
			case <-ctx.Done():
				t.Fatal("the notification was not heard")
			}
			if templates, err := session.ListResourceTemplates(ctx, nil); err != nil || len(templates.ResourceTemplates) != 0 {
				t.Errorf("templates: %v, %v", templates, err)
			}
			if _, err := session.ListPrompts(ctx, nil); err == nil || !strings.Contains(err.Error(), "ethod not found") {
				t.Errorf("prompts: %v", err)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			await(t, "the stream's end", func() bool { return w.streams.Streams.Load() == 0 })
		})
	}
}

// TestOfficialClientCancels cancels one call and uses the session on.
func TestOfficialClientCancels(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := w.provide("c1")
	session := w.sdkClient(ctx, "/containers/c1/mcp", "2025-11-25", nil)
	callCtx, cancelCall := context.WithCancel(ctx)
	called := make(chan error, 1)
	go func() {
		_, err := session.CallTool(callCtx, &mcp.CallToolParams{Name: "echo"})
		called <- err
	}()
	closed := make(unserved)
	p.open(p.next(), closed)
	cancelCall()
	if err := <-called; err == nil {
		t.Error("the cancelled call succeeded")
	}
	select {
	case <-closed:
	case <-time.After(patience):
		// The client's connection ended as well, and may have been noticed first:
		// then its notification found no call to cancel.
		if w.observed.of("exchange call-tool left") == 0 {
			t.Fatal("the call was neither cancelled nor left")
		}
	}
	if err := session.Ping(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestOfficialClientLosesItsSession sees what the client makes of a 404.
func TestOfficialClientLosesItsSession(t *testing.T) {
	w := newWorld(t, func(o *options) { o.ttl = time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	session := w.sdkClient(ctx, "/mcp", "2025-11-25", nil)
	r := w.post("/mcp", "", method(http.MethodDelete), with("Mcp-Session-Id", session.ID()))
	do(t, newClient(t), r).is(204, "")
	if _, err := session.ListTools(ctx, nil); err == nil || !strings.Contains(err.Error(), mcp.ErrSessionMissing.Error()) {
		t.Errorf("got %v, want %v", err, mcp.ErrSessionMissing)
	}
}
