package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Exit statuses.
const (
	exitOK    = 0
	exitWrong = 1
	exitUsage = 2
)

// options are what a run is asked for.
type options struct {
	containers int
	duration   time.Duration
	rate       float64 // calls a second, of all containers together
	replace    float64 // percent of the containers that are replaced in a minute
	restart    bool
	notify     time.Duration // between notifications
	idle       time.Duration // the gateway's --container-idle
	soak       bool
	stalled    int // clients that do not read; with soak alone
}

// young is how long a container need not have heard a notification: it hears from its first ask on, and the gateway's
// server has to open the path first.
func (o options) young() time.Duration { return 2*o.notify + time.Second }

func main() {
	if len(os.Args) > 1 && os.Args[1] == clientsCommand {
		os.Exit(beClients(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(exitOK)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once, and the children with it
	os.Exit(run(ctx, o, os.Stdout))
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.IntVar(&o.containers, "containers", 3000, "containers at any time")
	flags.DurationVar(&o.duration, "duration", 10*time.Minute, "how long to watch once all containers have come")
	flags.Float64Var(&o.rate, "rate", 200, "calls a second, of all containers together")
	flags.Float64Var(&o.replace, "replace", 10, "percent of the containers replaced in a minute")
	flags.BoolVar(&o.restart, "restart", false, "restart the gateway in the middle")
	flags.DurationVar(&o.notify, "notify", 2*time.Second, "time between notifications, each of which goes to every container")
	flags.BoolVar(&o.soak, "soak", false, "have readers that stall, compare the gateway's gauges with what there is, and judge levels by their slope")
	flags.IntVar(&o.stalled, "stalled", 30, "with --soak, event streams that nobody reads")
	flags.DurationVar(&o.idle, "container-idle", 20*time.Second, "the gateway's --container-idle")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if !o.soak {
		o.stalled = 0
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.containers < 1:
		return o, fmt.Errorf("--containers: %d is too few", o.containers)
	case o.duration < 10*time.Second:
		return o, fmt.Errorf("--duration: %v is too short to see anything: 10s is the least", o.duration)
	case o.rate <= 0 || o.rate > 10_000:
		return o, fmt.Errorf("--rate: %v is not between 0 and 10000", o.rate)
	case o.replace < 0 || o.replace > 1000:
		return o, fmt.Errorf("--replace: %v is not between 0 and 1000", o.replace)
	case o.notify < 10*time.Millisecond:
		return o, fmt.Errorf("--notify: %v is too short: 10ms is the least", o.notify)
	case o.stalled < 0 || o.stalled > 1000:
		return o, fmt.Errorf("--stalled: %d is not between 0 and 1000", o.stalled)
	case o.soak && o.restart:
		return o, errors.New("--soak and --restart: a level has no slope over two processes; choose one")
	case o.soak && o.duration < 2*time.Minute:
		return o, fmt.Errorf("--duration: %v is too short for a soak: 2m is the least", o.duration)
	case o.idle < time.Second:
		return o, fmt.Errorf("--container-idle: %v is too short: 1s is the least", o.idle)
	}
	return o, nil
}
