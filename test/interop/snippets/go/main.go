// Command go points the official Go SDK at an MCP endpoint: it lists the tools and calls one.
//
//	go run ./test/interop/snippets/go http://127.0.0.1:8080/containers/a1/mcp
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./test/interop/snippets/go URL")
	}
	if err := listAndCall(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func listAndCall(ctx context.Context, url string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()

	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Println(tool.Name)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "hello"}})
	if err != nil {
		return err
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	return nil
}
