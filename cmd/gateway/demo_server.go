package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	demoAbout     = "demo://about"
	demoAboutText = "This text came from an MCP server through the gateway."
)

// demoServer is a small MCP server of the official SDK on a free loopback port: what a provider would have.
type demoServer struct {
	url    string
	http   *http.Server
	served chan error
}

type addInput struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type addOutput struct {
	Sum float64 `json:"sum"`
}

type learnInput struct {
	Name string `json:"name" jsonschema:"name of the tool to add: letters, digits and _ only"`
}

// newDemoMCP has two tools and a resource. Its tool learn adds another tool, of which clients are notified.
func newDemoMCP() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "gateway-demo", Version: readBuild().version}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, addOutput, error) {
			return nil, addOutput{in.A + in.B}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "learn", Description: "Adds a tool of that name, which announces itself with notifications/tools/list_changed."},
		func(_ context.Context, _ *mcp.CallToolRequest, in learnInput) (*mcp.CallToolResult, any, error) {
			if in.Name == "" || in.Name == "add" || in.Name == "learn" {
				return nil, nil, fmt.Errorf("the name %q is taken or empty", in.Name)
			}
			s.AddTool(&mcp.Tool{Name: in.Name, Description: "A tool that was learnt.", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return text("I was learnt."), nil
				})
			return text("learnt " + in.Name), nil, nil
		})
	s.AddResource(&mcp.Resource{URI: demoAbout, Name: "about", MIMEType: "text/plain"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: demoAbout, MIMEType: "text/plain", Text: demoAboutText}}}, nil
		})
	return s
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func startDemoServer(ctx context.Context) (*demoServer, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port for the demo's MCP server: %w", err)
	}
	s := newDemoMCP()
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	d := &demoServer{
		url:    "http://" + ln.Addr().String() + "/mcp",
		http:   &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
		served: make(chan error, 1),
	}
	go func() { d.served <- d.http.Serve(ln) }()
	return d, nil
}

// close ends the server and every connection of it.
func (d *demoServer) close() error {
	err := d.http.Close()
	if served := <-d.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
