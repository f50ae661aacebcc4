package inside

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/diverge-network/gateway/pkg/mux"
)

// TestOfficialClientOverALimitGoesOn has the SDK's client take the refusal for the
// end of one call, and not of its session.
func TestOfficialClientOverALimitGoesOn(t *testing.T) {
	for _, revision := range []string{"2025-11-25", modernRevision} {
		t.Run(revision, func(t *testing.T) {
			w := newWorld(t, limited(mux.Limits{Asks: 1}, 1))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := w.provide("c1")
			session := w.sdkClient(ctx, "/containers/c1/mcp", revision, nil)
			call := func() error {
				_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo"})
				return err
			}
			called := make(chan error, 1)
			go func() { called <- call() }()
			held := p.next()
			if err := call(); err == nil {
				t.Fatal("a call over the limit was answered")
			} else {
				t.Log(err)
			}
			p.echoOne(held)
			if err := <-called; err != nil {
				t.Errorf("the call that was there: %v", err)
			}
			go func() { called <- call() }()
			p.echoOne(p.next())
			if err := <-called; err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}
