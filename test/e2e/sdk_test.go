package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/diverge-network/gateway/pkg/answer/upstream"
)

type echoIn struct {
	Text string `json:"text"`
}

// newServer is an MCP server with a tool that says back what it was told, one resource, and a tool that adds another tool.
func newServer(executed func(text string)) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "upstream", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
		executed(in.Text)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you said " + in.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		s.AddTool(&mcp.Tool{Name: "grown", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "grown"}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "note://one", Name: "one", MIMEType: "text/plain"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "note://one", Text: "a note"}}}, nil
		})
	return s
}

func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) == 0 {
		t.Fatalf("a result without content: %+v", r)
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the content is no text: %#v", r.Content[0])
	}
	return c.Text
}

// hear causes a notification until one is heard: nothing is replayed (protocol N5), and what happens before the server has
// opened the container's notifications path is missed.
func hear(t *testing.T, heard <-chan struct{}, cause func()) {
	t.Helper()
	for ctx := deadline(t); ; {
		cause()
		select {
		case <-heard:
			return
		case <-time.After(time.Second):
		case <-ctx.Done():
			t.Fatal("the notification was not heard")
		}
	}
}

// TestOfficialClientUsesAnOfficialServerThroughTheGateway has the client choose its revision, and then ask for one with a session.
func TestOfficialClientUsesAnOfficialServerThroughTheGateway(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) { useOfficialServer(t, revision) })
	}
}

func useOfficialServer(t *testing.T, revision string) {
	g := startGateway(t, nil)
	startAnswer(t, g, "a1", upstream.Config{URL: startUpstream(t, newServer(func(string) {}))})
	changed := make(chan struct{}, 8)
	session := connectIn(t, g, "a1", revision, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	useAll(t, session, changed, revision)
}

// useAll makes one exchange of each kind, and hears a notification.
func useAll(t *testing.T, session *mcp.ClientSession, changed <-chan struct{}, revision string) {
	t.Helper()
	ctx := deadline(t)
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("the revision is %s", got)
	}

	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 2 {
		t.Fatalf("tools/list: %+v, %v", tools, err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoIn{"hello"}})
	if err != nil || text(t, result) != "you said hello" {
		t.Fatalf("tools/call: %+v, %v", result, err)
	}
	resources, err := session.ListResources(ctx, nil)
	if err != nil || len(resources.Resources) != 1 {
		t.Fatalf("resources/list: %+v, %v", resources, err)
	}
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "note://one"})
	if err != nil || contents.Contents[0].Text != "a note" {
		t.Fatalf("resources/read: %+v, %v", contents, err)
	}
	if revision < "2026" { // which has none
		if err := session.Ping(ctx, nil); err != nil {
			t.Fatalf("ping: %v", err)
		}
	}
	hear(t, changed, func() {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "grow"}); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "missing"}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Fatalf("the server's error did not arrive: %v", err)
	}
}

func TestEveryConcurrentCallOfManyContainersIsExecutedOnceAndAnsweredToItsCaller(t *testing.T) {
	const containers, calls = 50, 50
	g := startGateway(t, nil)
	executed := make([]atomic.Int32, containers*calls)
	url := startUpstream(t, newServer(func(text string) {
		var container, call int
		if _, err := fmt.Sscanf(text, "container %d call %d", &container, &call); err != nil {
			t.Errorf("an unknown call was executed: %q", text)
			return
		}
		executed[container*calls+call].Add(1)
	}))
	sessions := make([]*mcp.ClientSession, containers)
	for i := range containers {
		id := fmt.Sprintf("c%d", i)
		startAnswer(t, g, id, upstream.Config{URL: url})
		sessions[i] = connect(t, g, id, nil)
		// The first ask has answer open its session with the server: not all 50 at once, and not amid 2,500 calls.
		if _, err := sessions[i].ListTools(deadline(t), nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx := deadline(t)
	var ended sync.WaitGroup
	for i, session := range sessions {
		for j := range calls {
			ended.Go(func() {
				said := fmt.Sprintf("container %d call %d", i, j)
				result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoIn{said}})
				if err != nil {
					t.Errorf("%s: %v", said, err)
				} else if got := text(t, result); got != "you said "+said {
					t.Errorf("%s was answered with %q", said, got)
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
}
