package inside

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestOfficialClientOfTheStatelessRevision has the SDK's client find out by itself
// what it may speak, and make each exchange. It subscribes on its own account.
func TestOfficialClientOfTheStatelessRevision(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := w.provide("c1")
	heard := make(chan string, 2)
	session := w.sdkClient(ctx, "/containers/c1/mcp", "", &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { heard <- "tools" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { heard <- "resources" },
	})
	result := session.InitializeResult()
	if result.ProtocolVersion != "2026-07-28" || result.ServerInfo.Name != "gateway" || session.ID() != "" {
		t.Errorf("negotiated %+v, session %q", result, session.ID())
	}
	failed := make(chan error, 1)
	for name, exchange := range map[string]func() error{
		"tools/list":     func() error { _, err := session.ListTools(ctx, nil); return err },
		"resources/list": func() error { _, err := session.ListResources(ctx, nil); return err },
		"tools/call": func() error {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "é", Arguments: map[string]any{"x": 1}})
			return err
		},
		"resources/read": func() error {
			_, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///a"})
			return err
		},
	} {
		go func() { failed <- exchange() }()
		p.echoOne(p.next())
		if err := <-failed; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if templates, err := session.ListResourceTemplates(ctx, nil); err != nil || len(templates.ResourceTemplates) != 0 {
		t.Errorf("templates: %v, %v", templates, err)
	}
	if _, err := session.ListPrompts(ctx, nil); err == nil {
		t.Error("there are prompts")
	}
	await(t, "the client's subscription", func() bool { return w.streams.Streams.Load() == 1 })
	for want, n := range map[string]string{"tools": toolsChanged, "resources": resourcesChanged} {
		p.notify(n)
		select {
		case got := <-heard:
			if got != want {
				t.Errorf("heard %s, want %s", got, want)
			}
		case <-ctx.Done():
			t.Fatal("the notification was not heard")
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	await(t, "the stream's end", func() bool { return w.streams.Streams.Load() == 0 })
}

// TestOfficialClientCancelsAModernCall, and goes on.
func TestOfficialClientCancelsAModernCall(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := w.provide("c1")
	session := w.sdkClient(ctx, "/containers/c1/mcp", "", nil)
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
		t.Fatal("the path was not closed")
	}
	go func() {
		_, err := session.ListTools(ctx, nil)
		called <- err
	}()
	p.echoOne(p.next())
	if err := <-called; err != nil {
		t.Error(err)
	}
}
