package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/diverge-network/gateway/internal/gateway"
)

type demoCmd struct {
	Once bool `help:"Exit when everything was shown, with status 0 if it worked and 1 if not, instead of serving on. Uses free ports."`
}

// freePort is any free port of the loopback.
const freePort = "127.0.0.1:0"

// Run shows one exchange of each kind, and without --once serves on until the world's context ends.
func (d *demoCmd) Run(w *world) (err error) {
	config := gateway.Default()
	b := readBuild()
	config.Version, config.Revision, config.Logger = b.version, b.revision, w.log
	if d.Once {
		config.Outside, config.Inside, config.Ops = freePort, freePort, freePort
	}
	g, err := startSomewhere(w.stdout, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeGateway(g)) }()

	server, err := startDemoServer(w.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()

	answering, stopAnswering := context.WithCancel(w.ctx)
	provider := &provider{
		gateway:    "ws://" + g.OutsideAddr().String(),
		containers: []string{defaultContainer},
		upstream:   server.url,
		log:        w.log,
	}
	ended := make(chan error, 1)
	go func() { ended <- provider.run(answering) }()
	defer func() {
		stopAnswering()
		err = errors.Join(err, <-ended)
	}()

	url := "http://" + g.InsideAddr().String() + "/mcp"
	say := func(format string, args ...any) { fmt.Fprintf(w.stdout, format+"\n", args...) }
	say("A gateway, a provider's server and an MCP client in one process.")
	say("")
	say("  gateway    outside ws://%s   inside http://%s   ops http://%s", g.OutsideAddr(), g.InsideAddr(), g.OpsAddr())
	say("  provider   an MCP server at %s, answering for the container %q", server.url, defaultContainer)
	say("  client     the official Go SDK, at %s", url)
	say("")
	if err := show(w.ctx, w.stdout, url); err != nil {
		if w.ctx.Err() != nil {
			return nil // interrupted, which is no failure
		}
		return fmt.Errorf("the demo failed: %w", err)
	}
	say("")
	if d.Once {
		say("All five kinds of exchange worked.")
		return nil
	}
	say("All five kinds of exchange worked. Point an MCP client at")
	say("")
	say("  %s", url)
	say("")
	say("or look at http://%s/metrics. Ctrl-C ends it.", g.OpsAddr())
	select {
	case <-w.ctx.Done():
		return nil
	case <-g.Failed():
		return errors.New("the gateway ended by itself")
	}
}

// startSomewhere starts a gateway at its addresses, or at a free port instead of each that is taken, and says so.
func startSomewhere(out io.Writer, config gateway.Config) (*gateway.Gateway, error) {
	addresses := map[string]*string{"--outside": &config.Outside, "--inside": &config.Inside, "--ops": &config.Ops}
	for {
		g, err := gateway.New(config)
		if err != nil {
			return nil, err
		}
		err = g.Start()
		if err == nil {
			return g, nil
		}
		var taken *gateway.ListenError
		if !errors.As(err, &taken) || !errors.Is(err, syscall.EADDRINUSE) || *addresses[taken.Flag] == freePort {
			return nil, err
		}
		fmt.Fprintf(out, "%s is taken: using a free port for %s\n", taken.Address, taken.Flag)
		*addresses[taken.Flag] = freePort
	}
}

// show connects a client and carries out its steps, one line each.
func show(ctx context.Context, out io.Writer, url string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, demoWithin)
	defer cancel()
	client, err := connectDemoClient(ctx, url, nil)
	if err != nil {
		return fmt.Errorf("the client could not connect to %s: %w", url, err)
	}
	defer func() { err = errors.Join(err, client.close()) }()
	for _, step := range client.steps() {
		begun := time.Now()
		came, err := step.show(ctx)
		took := time.Since(begun).Round(10 * time.Microsecond)
		if err != nil {
			fmt.Fprintf(out, "  %-15s FAILED %9s   %v\n", step.name, took, err)
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(out, "  %-15s ok     %9s   %s\n", step.name, took, came)
	}
	return nil
}
