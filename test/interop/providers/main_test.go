// Package providers puts providers' servers that are not ours, in Rust and in Python, before a gateway: processes that share
// no code with it, on WebSocket libraries of their own.
package providers

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/diverge-network/gateway/internal/gateway"
)

// fasthttp dates its responses by a goroutine that lives as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

// patience is how long a test waits for something that should happen at once, on a machine that may be busy with others.
const patience = time.Minute

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// startGateway runs a gateway on free ports until the test ends.
func startGateway(t *testing.T) *gateway.Gateway {
	t.Helper()
	cfg := gateway.Default()
	cfg.Outside, cfg.Inside, cfg.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.ReaskAfter = 50 * time.Millisecond
	cfg.Logger = slog.New(slog.DiscardHandler)
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
	return g
}

func serverURL(g *gateway.Gateway) string {
	return "ws://" + g.OutsideAddr().String() + "/containers/a1"
}

// connect is the container's MCP client: the official SDK's, over Streamable HTTP, in this revision, or in the one that it
// chooses itself.
func connect(t *testing.T, g *gateway.Gateway, revision string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, opts)
	session, err := client.Connect(deadline(t), &mcp.StreamableClientTransport{
		Endpoint:   "http://" + g.InsideAddr().String() + "/containers/a1/mcp",
		HTTPClient: &http.Client{Transport: transport},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		transport.CloseIdleConnections()
	})
	return session
}
