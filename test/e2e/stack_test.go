// Package e2e brings the whole thing up: the official SDK's client in a container, the gateway, gateway answer's library, and
// a real MCP server behind it.
package e2e

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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

// patience is how long a test waits for something that should happen at once, on a machine that may be busy with others.
const patience = time.Minute

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

var quiet = slog.New(slog.DiscardHandler)

// startGateway runs a gateway on free ports until the test ends.
func startGateway(t *testing.T, change func(*gateway.Config)) *gateway.Gateway {
	t.Helper()
	cfg := gateway.Default()
	cfg.Outside, cfg.Inside, cfg.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Logger = quiet
	if change != nil {
		change(&cfg)
	}
	g, err := gateway.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeGateway(t, g) })
	return g
}

func closeGateway(t *testing.T, g *gateway.Gateway) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		t.Errorf("the gateway did not close in time: %v", err)
	}
}

// startAnswer serves a container of g from the MCP server that cfg names, until the returned function is called or the test
// ends.
func startAnswer(t *testing.T, g *gateway.Gateway, container string, cfg upstream.Config) (stop func()) {
	t.Helper()
	cfg.Logger = quiet
	up, err := upstream.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, &answer.Server{Gateway: "ws://" + g.OutsideAddr().String(), Container: container, Handler: up, Logger: quiet}, up)
}

// run runs a server, and closes what it answers from at its end.
func run(t *testing.T, server *answer.Server, up io.Closer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Errorf("answer for %s: %v", server.Container, err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		ended.Wait()
		up.Close()
	})
	t.Cleanup(stop)
	return stop
}

// startUpstream serves an SDK server over Streamable HTTP.
func startUpstream(t *testing.T, server *mcp.Server) string {
	t.Helper()
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(h.Close)
	return h.URL
}

// connect is the container's MCP client: the official SDK's, over Streamable HTTP.
func connect(t *testing.T, g *gateway.Gateway, container string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connectIn(t, g, container, "", opts)
}

// connectIn is connect in an MCP revision; "" leaves it to the client.
func connectIn(t *testing.T, g *gateway.Gateway, container, revision string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return connectBy(t, "http://"+g.InsideAddr().String()+"/containers/"+container+"/mcp", transport, revision, opts)
}

// connectBy is connectIn at a URL.
func connectBy(t *testing.T, url string, transport http.RoundTripper, revision string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, opts)
	session, err := client.Connect(deadline(t), &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: transport},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}
