package gateway

import (
	"context"
	"time"
)

// drainLook is how often it is looked whether a drain is over.
const drainLook = 10 * time.Millisecond

// Drain comes before a Close that shall lose nothing: /readyz fails, new requests, sessions and streams are refused with 503,
// and what a server was told of may still be opened, answered, and asked again, until none of it is left, Config.DrainTimeout
// has passed, or ctx ends. It returns how many callers still wait for such an ask. Callers that no server was told of
// do not make it wait.
func (g *Gateway) Drain(ctx context.Context) (left int) {
	g.ops.SetReady(false)
	g.drainInside()
	ctx, cancel := context.WithTimeout(ctx, g.config.DrainTimeout)
	defer cancel()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for {
		if left = g.mux.Owing(); left == 0 {
			return 0
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return g.mux.Owing()
		}
	}
}
