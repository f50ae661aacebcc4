//go:build linux

package suite

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/inmemory"
)

// InMemory is what so many containers cost on connections that are no sockets.
type InMemory = inmemory.Cost

// inMemory measures in processes of their own.
func inMemory(n int) (cost InMemory, err error) {
	out, err := roleOutput("inmemory", strconv.Itoa(n))
	if err != nil {
		return cost, err
	}
	if err := json.Unmarshal(out, &cost); err != nil {
		return cost, err
	}
	if out, err = roleOutput("bare", strconv.Itoa(n)); err != nil {
		return cost, err
	}
	_, err = fmt.Sscan(string(out), &cost.Conns)
	return cost, err
}

func roleOutput(role string, args ...string) ([]byte, error) {
	cmd, err := child.RoleCommand(role, args...)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	return out, nil
}
