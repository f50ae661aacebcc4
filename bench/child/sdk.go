//go:build linux

package child

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Arguments of the sdk role.
const Stateless = "stateless"

// echoText is what the tool of the sdk and the stdio role answers with.
var echoText = strings.Repeat("x", 200)

type echoArguments struct {
	Message string `json:"message"`
	Caller  int    `json:"caller,omitempty"`
}

// sdkRole is an MCP server of the Go SDK behind its own HTTP handler, which answers in JSON: its fastest way.
func sdkRole(ctx context.Context, args []string, ready func(Addresses)) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "answers"},
		func(context.Context, *mcp.CallToolRequest, echoArguments) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: echoText}}}, nil, nil
		})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: slices.Contains(args, Stateless)})
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	ready(Addresses{Inside: ln.Addr().String()})
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
