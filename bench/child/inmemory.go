//go:build linux

package child

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/diverge-network/gateway/bench/inmemory"
)

// inMemoryRole measures as many containers as its argument says, prints what they cost, and ends.
func inMemoryRole(_ context.Context, args []string, _ func(Addresses)) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	cost, err := inmemory.Measure(n, 20_000)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(cost)
}

// bareRole measures what their connections cost alone.
func bareRole(_ context.Context, args []string, _ func(Addresses)) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	fmt.Println(inmemory.Bare(n))
	return nil
}
