package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	pageSize  = 10
	fillers   = 25 // tools that do nothing, so that tools/list has three pages and more
	resources = 25 // so that resources/list has three pages

	slowest  = 30 * time.Second // how long a slow call waits for its cancellation
	mostText = 16 << 20
)

type (
	none   struct{}
	echoIn struct {
		Text string `json:"text"`
	}
	progressIn struct {
		Steps int `json:"steps"`
	}
	bigIn struct {
		Bytes int `json:"bytes"`
	}
)

func said(text string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// newServer is one server for all sessions: what grows and what was cancelled is counted over all of them.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "interop-upstream", Version: "1"}, &mcp.ServerOptions{
		PageSize:     pageSize,
		Capabilities: &mcp.ServerCapabilities{}, // no logging; tools and resources are inferred
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says the text back"}, echo)
	mcp.AddTool(s, &mcp.Tool{Name: "progress", Description: "makes progress in so many steps, then answers"}, progress)
	mcp.AddTool(s, &mcp.Tool{Name: "big", Description: "a text of so many bytes"}, big)
	addCancellation(s)
	addGrowth(s)
	for i := range fillers {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("filler-%02d", i+1), Description: "does nothing"},
			func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
				return said("nothing")
			})
	}
	for i := range resources {
		uri := fmt.Sprintf("text://%d", i+1)
		s.AddResource(&mcp.Resource{URI: uri, Name: fmt.Sprintf("text %d", i+1), MIMEType: "text/plain"},
			func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
					{URI: req.Params.URI, MIMEType: "text/plain", Text: "the text of " + req.Params.URI},
				}}, nil
			})
	}
	return s
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
	return said(in.Text)
}

// progress notifies 1 to steps of steps, where the caller gave a token, and then answers.
func progress(ctx context.Context, req *mcp.CallToolRequest, in progressIn) (*mcp.CallToolResult, any, error) {
	if token := req.Params.GetProgressToken(); token != nil {
		for i := range in.Steps {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token,
				Progress:      float64(i + 1),
				Total:         float64(in.Steps),
				Message:       fmt.Sprintf("step %d of %d", i+1, in.Steps),
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return said(fmt.Sprintf("%d steps", in.Steps))
}

func big(_ context.Context, _ *mcp.CallToolRequest, in bigIn) (*mcp.CallToolResult, any, error) {
	if in.Bytes < 0 || in.Bytes > mostText {
		return nil, nil, fmt.Errorf("bytes is %d: give 0 to %d", in.Bytes, mostText)
	}
	return said(strings.Repeat("x", in.Bytes))
}

// addCancellation adds a tool that waits to be cancelled, and one that says how many were.
func addCancellation(s *mcp.Server) {
	var cancelled atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Description: "waits until it is cancelled"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			timer := time.NewTimer(slowest)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return nil, nil, ctx.Err()
			case <-timer.C:
				return said("nobody cancelled")
			}
		})
	mcp.AddTool(s, &mcp.Tool{Name: "cancelled", Description: "how many slow calls were cancelled"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return said(fmt.Sprint(cancelled.Load()))
		})
}

// addGrowth adds a tool that adds another tool each time, of which the server then notifies.
func addGrowth(s *mcp.Server) {
	var grown atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "adds a tool"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			name := fmt.Sprintf("grown-%d", grown.Add(1))
			s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
				})
			return said(name)
		})
}
