package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/diverge-network/gateway/pkg/answer/upstream"
)

// everything returns how to start @modelcontextprotocol/server-everything, which package.json and its lock pin.
func everything(t *testing.T) []string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("GATEWAY_E2E_NPM") != "" || os.Getenv("CI") != "" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("server-everything needs node: %v", err)
	}
	script, err := filepath.Abs("everything/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		if out, err := exec.Command("npm", "ci", "--prefix", "everything", "--silent").CombinedOutput(); err != nil {
			missing("server-everything could not be installed with npm: %v\n%s", err, out)
		}
	}
	return []string{node, script, "stdio"}
}

func TestOfficialClientUsesServerEverythingThroughTheGateway(t *testing.T) {
	command := everything(t)
	g := startGateway(t, nil)
	startAnswer(t, g, "a1", upstream.Config{Command: command})
	listChanged := make(chan struct{}, 8)
	session := connect(t, g, "a1", &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { listChanged <- struct{}{} },
	})
	ctx := deadline(t)

	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) < 10 {
		t.Fatalf("tools/list: %+v, %v", tools, err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "hello"}})
	if err != nil || !strings.Contains(text(t, result), "hello") {
		t.Fatalf("tools/call echo: %+v, %v", result, err)
	}
	result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "get-sum", Arguments: map[string]any{"a": 2, "b": 40}})
	if err != nil || !strings.Contains(text(t, result), "42") {
		t.Fatalf("tools/call get-sum: %+v, %v", result, err)
	}
	resources, err := session.ListResources(ctx, nil)
	if err != nil || len(resources.Resources) == 0 {
		t.Fatalf("resources/list: %+v, %v", resources, err)
	}
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: resources.Resources[0].URI})
	if err != nil || contents.Contents[0].Text == "" {
		t.Fatalf("resources/read: %+v, %v", contents, err)
	}
	// The tool registers its result as a new resource, of which the server then tells.
	hear(t, listChanged, func() {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "gzip-file-as-resource",
			Arguments: map[string]any{"name": "x.gz", "data": "data:text/plain,hello", "outputType": "resource"}})
		if err != nil || result.IsError {
			t.Fatalf("tools/call gzip-file-as-resource: %+v, %v", result, err)
		}
	})
}
