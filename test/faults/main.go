package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
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
	exchanges int
	duration  time.Duration // no round begins after it
	seed      uint64
	only      *regexp.Regexp // of the kinds, those whose name matches
	lanes     int
	stride    int    // of the cuts at every byte
	program   string // the gateway's; "": it is built
}

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(exitOK)
	case err != nil:
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once, and the children with it
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(exitWrong)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.IntVar(&o.exchanges, "exchanges", 10_000, "exchanges under random faults; those that are cut at every byte come on top")
	flags.DurationVar(&o.duration, "duration", 10*time.Minute, "begin nothing new after this time")
	flags.Uint64Var(&o.seed, "seed", 0, "what the faults follow from; 0: another each time")
	only := flags.String("only", "", "only the kinds of faults whose name matches this regular expression")
	flags.IntVar(&o.lanes, "lanes", 32, "containers")
	flags.IntVar(&o.stride, "stride", 1, "cut at every so many bytes only")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("--only: %w", err)
	}
	for o.seed == 0 {
		o.seed = uint64(rand.Uint32())
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.exchanges < 1:
		return o, fmt.Errorf("--exchanges: %d is too few", o.exchanges)
	case o.lanes < 2 || o.lanes > 200:
		return o, fmt.Errorf("--lanes: %d is not between 2 and 200", o.lanes)
	case o.stride < 1:
		return o, fmt.Errorf("--stride: %d is too little", o.stride)
	case len(kindsNamed(o.only)) == 0:
		return o, fmt.Errorf("--only: no kind of fault is called like %q", *only)
	}
	return o, nil
}
