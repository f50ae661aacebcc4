//go:build linux

package child

import (
	"context"
	"log/slog"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/diverge-network/gateway/internal/gateway"
)

// manyStreams are those of one container to which a notification is sent.
const manyStreams = 10_000

// QuietGateway is the configuration in which nothing moves by itself, and one container may have as many streams as are measured.
func QuietGateway() gateway.Config {
	c := gateway.Default()
	c.Outside, c.Inside, c.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Ping, c.SSEKeepAlive, c.StreamStall = time.Hour, time.Hour, time.Hour
	c.Limits.Streams = manyStreams
	c.Logger = slog.New(slog.DiscardHandler)
	return c
}

// gatewayRole is the gateway as cmd/gateway runs it, with the control address beside it.
func gatewayRole(ctx context.Context, _ []string, ready func(Addresses)) error {
	g, err := gateway.New(QuietGateway())
	if err != nil {
		return err
	}
	if err := g.Start(); err != nil {
		return err
	}
	ready(Addresses{Outside: g.OutsideAddr().String(), Inside: g.InsideAddr().String(), Ops: g.OpsAddr().String()})
	select {
	case <-ctx.Done():
	case <-g.Failed():
	}
	closing, cancel := context.WithTimeout(context.Background(), stopWithin/2)
	defer cancel()
	return g.Close(closing)
}

// quietFlags are QuietGateway's for the program.
var quietFlags = []string{"serve", "--outside", "127.0.0.1:0", "--inside", "127.0.0.1:0", "--ops", "127.0.0.1:0",
	"--ping", "1h", "--sse-keepalive", "1h", "--stream-stall", "1h", "--max-streams", strconv.Itoa(manyStreams), "--log-level", "error"}

var summary = regexp.MustCompile(`outside ws://(\S+)\s+inside http://(\S+)/mcp\s+ops http://(\S+)/metrics`)

// StartGateway starts the gateway's program.
func StartGateway(program string, flags ...string) (*Process, error) {
	return Start(exec.Command(program, append(slices.Clone(quietFlags), flags...)...), func(line string) (a Addresses, ok bool) {
		m := summary.FindStringSubmatch(line)
		if m == nil {
			return a, false
		}
		return Addresses{Outside: m[1], Inside: m[2], Ops: m[3]}, true
	})
}
