package upstream

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// commandRole is the variable under which the test binary is an MCP server on standard input and output.
const commandRole = "UPSTREAM_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(commandRole); role != "" {
		os.Exit(command(role))
	}
	goleak.VerifyTestMain(m)
}

func command(role string) int {
	fmt.Fprintln(os.Stderr, "hello from", role)
	switch role {
	case "server", "noisy", "deaf":
		if role == "noisy" {
			fmt.Println("Server listening on stdio")
			fmt.Println("[info] ready")
		}
		if err := newServer(nil).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			return 1
		}
		if role == "deaf" {
			lastUntilTerminated() // its input is closed, and it goes on
		}
		return 0
	case "mute", "brittle", "confused", "choking":
		return old(role)
	case "flood":
		go flood(os.Stderr)
		flood(os.Stdout)
	case "beggar":
		return beg()
	case "tethered":
		return tethered()
	case "host":
		return host()
	case "exit":
		fmt.Fprint(os.Stderr, "cannot go on")
		return 3
	}
	return 2
}
