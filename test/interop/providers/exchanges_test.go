package providers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoIn struct {
	Text    string `json:"text"`
	AfterMs int    `json:"afterMs,omitempty"`
}

func call(t *testing.T, session *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()
	result, err := session.CallTool(deadline(t), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return text(t, result)
}

func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("not one content: %+v", r)
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the content is no text: %#v", r.Content[0])
	}
	return c.Text
}

func wantError(t *testing.T, session *mcp.ClientSession, tool string, code int64, message string) {
	t.Helper()
	result, err := session.CallTool(deadline(t), &mcp.CallToolParams{Name: tool})
	var got *jsonrpc.Error
	if !errors.As(err, &got) || got.Code != code || !strings.Contains(got.Message, message) {
		t.Errorf("%s was answered with %+v, %v, instead of the error %d %q", tool, result, err, code, message)
	}
}

func TestAStrangersServerAnswersAllKinds(t *testing.T) {
	each(t, func(t *testing.T, p *program) {
		g := startGateway(t)
		provider := start(t, p, serverURL(g))
		provider.introduced()
		changed := make(chan struct{}, 8)
		session := connect(t, g, "", &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
		})
		ctx := deadline(t)

		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			t.Fatalf("tools/list: %v", err)
		}
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
		}
		if want := []string{"echo", "abrupt", "unserved", "error", "notify"}; !slices.Equal(names, want) {
			t.Errorf("the tools are %q, not %q", names, want)
		}
		resources, err := session.ListResources(ctx, nil)
		if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != "text://1" {
			t.Errorf("resources/list: %+v, %v", resources, err)
		}
		read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "text://1"})
		if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != "the text of text://1" {
			t.Errorf("resources/read: %+v, %v", read, err)
		}
		if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "text://2"}); err == nil {
			t.Error("a resource that is not there was read")
		}
		said := "hello \u2028 \U0001f980 \"quoted\" \\ \x00 \x7f \n"
		if heard := call(t, session, "echo", echoIn{Text: said}); heard != said {
			t.Errorf("echo of %q is %q", said, heard)
		}
		big := strings.Repeat("x", 3_000_000)
		if heard := call(t, session, "echo", echoIn{Text: big}); heard != big {
			t.Errorf("echo of %d bytes has %d", len(big), len(heard))
		}
		for range 2 {
			call(t, session, "notify", nil)
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatal("the notification was not heard")
			}
		}

		provider.terminate()
		if status := provider.exit(); status != 0 {
			t.Errorf("after SIGTERM the status is %d", status)
		}
	})
}

// Clean and abrupt are never taken for each other (protocol A4 to A6).
func TestAStrangersAnswerEndsInEachWay(t *testing.T) {
	each(t, func(t *testing.T, p *program) {
		g := startGateway(t)
		start(t, p, serverURL(g)).introduced()
		session := connect(t, g, "2025-11-25", nil) // which lets every code of an error pass
		for range 3 {
			if heard := call(t, session, "abrupt", nil); heard != "again" {
				t.Errorf("an answer that broke off was heard: %q", heard)
			}
			wantError(t, session, "unserved", jsonrpc.CodeInternalError, "not served")
			wantError(t, session, "error", -32099, "as asked")
			wantError(t, session, "missing", jsonrpc.CodeInvalidParams, "unknown tool missing")
		}
	})
}

func TestACancelledCallLeavesAStrangersServerServing(t *testing.T) {
	each(t, func(t *testing.T, p *program) {
		g := startGateway(t)
		provider := start(t, p, serverURL(g))
		session := connect(t, g, "", nil)
		ctx, cancel := context.WithCancel(deadline(t))
		ended := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoIn{Text: "late", AfterMs: 60_000}})
			ended <- err
		}()
		provider.opened("call-tool")
		cancel()
		if err := <-ended; err == nil {
			t.Error("a cancelled call was answered")
		}
		if heard := call(t, session, "echo", echoIn{Text: "still here"}); heard != "still here" {
			t.Errorf("after a cancelled call echo says %q", heard)
		}
	})
}

func TestACallIsAnsweredAlthoughItsProviderWasKilledWhileAnswering(t *testing.T) {
	each(t, func(t *testing.T, p *program) {
		g := startGateway(t)
		first := start(t, p, serverURL(g))
		first.introduced()
		session := connect(t, g, "", nil)
		type answer struct {
			result *mcp.CallToolResult
			err    error
		}
		ctx, answered := deadline(t), make(chan answer, 1)
		go func() {
			result, err := session.CallTool(ctx, &mcp.CallToolParams{
				Name: "echo", Arguments: echoIn{Text: "twice asked", AfterMs: int((2 * time.Second).Milliseconds())},
			})
			answered <- answer{result, err}
		}()
		first.opened("call-tool")
		first.kill()
		select {
		case a := <-answered:
			t.Fatalf("answered before the provider was killed: %+v, %v", a.result, a.err)
		default:
		}
		second := start(t, p, serverURL(g))
		second.introduced()
		second.opened("call-tool")
		if a := <-answered; a.err != nil || text(t, a.result) != "twice asked" {
			t.Errorf("answered with %+v, %v", a.result, a.err)
		}
	})
}
