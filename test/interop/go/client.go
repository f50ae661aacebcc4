package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is one session of the SDK's client, and what it was notified of.
type client struct {
	client  *mcp.Client
	session *mcp.ClientSession

	changed chan struct{} // holds one element when tools/list has changed

	mu       sync.Mutex
	progress map[string][]float64 // by token
	heard    chan struct{}        // holds one element when progress has grown
}

func newClient() *client {
	c := &client{changed: make(chan struct{}, 1), progress: map[string][]float64{}, heard: make(chan struct{}, 1)}
	c.client = mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { signal(c.changed) },
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			token := fmt.Sprintf("%T %[1]v", req.Params.ProgressToken)
			c.progress[token] = append(c.progress[token], req.Params.Progress)
			c.mu.Unlock()
			signal(c.heard)
		},
	})
	return c
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (c *client) connect(ctx context.Context, url, revision string) (err error) {
	c.session, err = c.client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	return err
}

func (c *client) revision() string { return c.session.InitializeResult().ProtocolVersion }

// call calls a tool whose answer is one text.
func (c *client) call(ctx context.Context, name string, arguments map[string]any, token any) (string, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: arguments}
	if token != nil {
		params.SetProgressToken(token)
	}
	result, err := c.session.CallTool(ctx, params)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if result.IsError || len(result.Content) != 1 {
		return "", fmt.Errorf("%s: %d contents, error %t", name, len(result.Content), result.IsError)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("%s: the content is no text but a %T", name, result.Content[0])
	}
	return text.Text, nil
}
