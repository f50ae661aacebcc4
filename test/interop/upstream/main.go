// Command upstream is the MCP server that the interoperability checks are made against: the official Go SDK's, with tools
// that are each there for one check.
//
//	go run ./test/interop/upstream -http 127.0.0.1:3001 [-stateless]
//
// It serves http://ADDR/mcp, by default with sessions (the revisions up to 2025-11-25), with -stateless without (the revision
// 2026-07-28, and older clients as far as they get without a session). The first line on standard output says the URL. It
// ends on SIGTERM and SIGINT.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	address := flag.String("http", "127.0.0.1:0", "address to serve on")
	stateless := flag.Bool("stateless", false, "serve without sessions, as the revision 2026-07-28 has it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serve(ctx, *address, *stateless); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// serve serves until ctx ends.
func serve(ctx context.Context, address string, stateless bool) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: handler(stateless), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	fmt.Printf("upstream: http://%s/mcp\n", listener.Addr())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func handler(stateless bool) http.Handler {
	server := newServer()
	routes := http.NewServeMux()
	routes.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: stateless,
		// In the stateless revision a closed stream is how a client cancels.
		PropagateRequestCancellation: true,
	}))
	return routes
}
