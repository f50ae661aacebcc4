//go:build linux

package child

import (
	"context"

	"github.com/diverge-network/gateway/bench/floor"
)

// floorRole is all floors.
func floorRole(ctx context.Context, _ []string, ready func(Addresses)) error {
	f, err := floor.Start()
	if err != nil {
		return err
	}
	ready(Addresses{Post: f.Fast(), Plain: f.Plain()})
	<-ctx.Done()
	f.Close()
	return nil
}
