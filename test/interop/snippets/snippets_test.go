// Package snippets runs what the documentation says about pointing a client at the gateway.
package snippets

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/diverge-network/gateway/internal/gateway"
	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/answer/upstream"
)

// fasthttp dates its responses by a goroutine that lives as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

const patience = time.Minute

func TestGoSnippetListsToolsAndCallsOne(t *testing.T) {
	expectEcho(t, command(t, ".", "go", "run", "./go"), endpoint(t))
}

func TestTypeScriptSnippetListsToolsAndCallsOne(t *testing.T) {
	install(t, "typescript/install")
	expectEcho(t, command(t, ".", "node", "typescript/list-and-call.mjs"), endpoint(t))
}

// npx takes the Inspector that is installed in the working directory.
func TestInspectorSnippetListsToolsAndCallsOne(t *testing.T) {
	install(t, "../inspector/install")
	snippet := command(t, "../inspector", "../snippets/inspector/list-and-call")
	snippet.Env = append(os.Environ(), "npm_config_offline=true", "HOME="+t.TempDir())
	expectEcho(t, snippet, endpoint(t))
}

// install runs a folder's install script, where CI runs or somebody asks for it.
func install(t *testing.T, script string) {
	t.Helper()
	if os.Getenv("CI") == "" && os.Getenv("GATEWAY_INTEROP") == "" {
		t.Skip("other people's clients have to be installed: GATEWAY_INTEROP=1 runs this")
	}
	if out, err := command(t, ".", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	return c
}

// expectEcho runs a snippet with the URL as its last argument, and looks for the tool's name and then for what it said.
func expectEcho(t *testing.T, snippet *exec.Cmd, url string) {
	t.Helper()
	snippet.Args = append(snippet.Args, url)
	var complaint strings.Builder
	snippet.Stderr = &complaint
	out, err := snippet.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", snippet, err, out, complaint.String())
	}
	if _, after, ok := strings.Cut(string(out), "echo"); !ok || !strings.Contains(after, "hello") {
		t.Fatalf("%s printed neither the tool echo nor what it said:\n%s", snippet, out)
	}
}

// endpoint is the URL of a container behind a gateway, served from an MCP server that has the tool echo.
func endpoint(t *testing.T) string {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	cfg := gateway.Default()
	cfg.Outside, cfg.Inside, cfg.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Logger = quiet
	g, err := gateway.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Errorf("the gateway did not close in time: %v", err)
		}
	})
	up, err := upstream.New(upstream.Config{URL: echoServer(t), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	server := &answer.Server{Gateway: "ws://" + g.OutsideAddr().String(), Container: "a1", Handler: up, Logger: quiet}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Errorf("answer: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		ended.Wait()
		up.Close()
	})
	return "http://" + g.InsideAddr().String() + "/containers/a1/mcp"
}

func echoServer(t *testing.T) string {
	t.Helper()
	type said struct {
		Message string `json:"message"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in said) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(h.Close)
	return h.URL
}
