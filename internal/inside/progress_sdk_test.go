package inside

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestOfficialClientHearsItsProgress has the SDK's clients of two sessions, and of
// two without, call with the same token at once.
func TestOfficialClientHearsItsProgress(t *testing.T) {
	for _, revision := range []string{"", "2025-11-25", "2025-03-26"} {
		t.Run("revision "+revision, func(t *testing.T) {
			const events = 5
			w := newWorld(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := w.provide("c1")
			type client struct {
				heard  chan *mcp.ProgressNotificationParams
				called chan error
				ask    heard
			}
			var clients [2]client
			for i := range clients {
				c := &clients[i]
				c.heard, c.called = make(chan *mcp.ProgressNotificationParams, 2*events), make(chan error, 1)
				session := w.sdkClient(ctx, "/containers/c1/mcp", revision, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.heard <- r.Params },
				})
				go func() {
					params := &mcp.CallToolParams{Name: "t"}
					params.SetProgressToken("mine")
					_, err := session.CallTool(ctx, params)
					c.called <- err
				}()
				c.ask = p.next()
			}
			for n := range events {
				for i := range clients {
					p.notify(progressOf(clients[i].ask.token(t), 100*i+n))
				}
			}
			for i := range clients {
				c := &clients[i]
				p.result(c.ask, emptyContent)
				if err := <-c.called; err != nil {
					t.Error(err)
				}
				for n := range events {
					select {
					case got := <-c.heard:
						if got.ProgressToken != "mine" || got.Progress != float64(100*i+n) {
							t.Errorf("client %d heard %+v", i, got)
						}
					case <-ctx.Done():
						t.Fatalf("client %d heard %d of %d", i, n, events)
					}
				}
				if len(c.heard) > 0 {
					t.Errorf("client %d heard more", i)
				}
			}
		})
	}
}
