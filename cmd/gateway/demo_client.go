package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// demoWithin is how long all of the demo's exchanges may take.
	demoWithin = 60 * time.Second
	// demoPatience is how long one notification is waited for before it is caused again: what happens before the
	// notifications path is open is missed (protocol N5).
	demoPatience = 2 * time.Second
)

// demoClient is what runs in an agent's container: an MCP client of the official SDK that knows the gateway's URL only.
type demoClient struct {
	session *mcp.ClientSession
	changed chan struct{} // has room for one: more say nothing new
}

// connectDemoClient makes its requests by hc; nil: the default client.
func connectDemoClient(ctx context.Context, url string, hc *http.Client) (*demoClient, error) {
	c := &demoClient{changed: make(chan struct{}, 1)}
	client := mcp.NewClient(&mcp.Implementation{Name: "gateway-demo-client", Version: readBuild().version}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: hc}, nil)
	if err != nil {
		return nil, err
	}
	c.session = session
	return c, nil
}

func (c *demoClient) close() error { return c.session.Close() }

// demoStep is one thing to show; what it returns says what came back.
type demoStep struct {
	name string
	show func(ctx context.Context) (string, error)
}

func (c *demoClient) steps() []demoStep {
	return []demoStep{
		{"list tools", c.listTools},
		{"list resources", c.listResources},
		{"call tool", c.callTool},
		{"read resource", c.readResource},
		{"notifications", c.notification},
	}
}

func (c *demoClient) listTools(ctx context.Context) (string, error) {
	result, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	names := make([]string, len(result.Tools))
	for i, tool := range result.Tools {
		names[i] = tool.Name
	}
	if len(names) < 2 {
		return "", fmt.Errorf("the server has 2 tools, %d arrived", len(names))
	}
	return strings.Join(names, ", "), nil
}

func (c *demoClient) listResources(ctx context.Context) (string, error) {
	result, err := c.session.ListResources(ctx, nil)
	if err != nil {
		return "", err
	}
	uris := make([]string, len(result.Resources))
	for i, resource := range result.Resources {
		uris[i] = resource.URI
	}
	if len(uris) != 1 {
		return "", fmt.Errorf("the server has 1 resource, %d arrived", len(uris))
	}
	return strings.Join(uris, ", "), nil
}

func (c *demoClient) callTool(ctx context.Context) (string, error) {
	result, err := c.call(ctx, "add", map[string]any{"a": 40, "b": 2})
	if err != nil {
		return "", err
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return "", err
	}
	if string(structured) != `{"sum":42}` {
		return "", fmt.Errorf("40 + 2 came back as %s", structured)
	}
	return "add(40, 2) = " + string(structured), nil
}

func (c *demoClient) readResource(ctx context.Context) (string, error) {
	result, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: demoAbout})
	if err != nil {
		return "", err
	}
	if len(result.Contents) != 1 || result.Contents[0].Text != demoAboutText {
		return "", errors.New("another text came back than the server has")
	}
	return fmt.Sprintf("%s = %q", demoAbout, result.Contents[0].Text), nil
}

func (c *demoClient) notification(ctx context.Context) (string, error) {
	for try := 1; ; try++ {
		name := fmt.Sprintf("trick_%d", try)
		if _, err := c.call(ctx, "learn", map[string]any{"name": name}); err != nil {
			return "", err
		}
		timer := time.NewTimer(demoPatience)
		select {
		case <-c.changed:
			timer.Stop()
			return fmt.Sprintf("learn(%q) made the server send tools/list_changed, and it arrived", name), nil
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", fmt.Errorf("after %d calls that cause one, no notification arrived: %w", try, ctx.Err())
		}
	}
}

func (c *demoClient) call(ctx context.Context, tool string, arguments map[string]any) (*mcp.CallToolResult, error) {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	if result.IsError {
		said, _ := json.Marshal(result.Content)
		return nil, fmt.Errorf("the tool %s failed: %s", tool, said)
	}
	return result, nil
}
