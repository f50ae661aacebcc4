// Command gateway is the proxy between MCP clients in agent containers and a provider's server.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/diverge-network/gateway/pkg/answer/upstream"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is Run under the process's signals: the first SIGINT or SIGTERM closes gracefully, a second one ends at once. So does a
// SIGHUP, of a terminal that closes, unless that was ignored from the start (nohup), or by the command.
func run(args []string, stdout, stderr io.Writer) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan int, 1)
	go func() { done <- Run(ctx, args, stdout, stderr) }()

	for asked := false; ; {
		select {
		case code := <-done:
			return code
		case s := <-signals:
			if asked {
				// First, for printing may block: nobody else ends the MCP servers that were started.
				upstream.KillCommands()
				fmt.Fprintf(stderr, "gateway: %v again: ending at once\n", s)
				return exitFailure
			}
			asked = true
			cancel()
		}
	}
}
