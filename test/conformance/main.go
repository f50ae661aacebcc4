// Command conformance runs the Model Context Protocol's official conformance suite against the whole gateway: `gateway serve`
// and `gateway answer` in front of the Go SDK's conformance server, with sessions and stateless.
//
//	go run ./test/conformance --install        npm, once: two versions of the suite, and the Node that they need
//	go run ./test/conformance --out DIR        every run; writes DIR/conformance.json, exit status 1 if anything is wrong
//	  --only 2026-07-28                        the runs whose name has this
//	  --direct                                 without a gateway, for the required scenarios: does the suite itself pass?
//
// Which scenarios must pass is in required.go; baseline/ holds those that do not apply, each with its reason. A scenario that is
// required and was not run has failed, and so has one of the baseline that passes, or one that is in neither.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/diverge-network/gateway/test/results"
	"github.com/diverge-network/gateway/test/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := conformance(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func conformance(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("conformance", flag.ExitOnError)
	out := flags.String("out", "", "folder for the results")
	filter := flags.String("only", "", "make only the runs whose name has this")
	direct := flags.Bool("direct", false, "try the conformance server itself, without a gateway")
	justInstall := flags.Bool("install", false, "install what is needed, and run nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := stack.Root(ctx)
	if err != nil {
		return err
	}
	b := bench{folder: filepath.Join(root, "test", "conformance"), direct: *direct}
	if err := install(ctx, b.folder); err != nil || *justInstall {
		return err
	}
	if *out == "" {
		return errors.New("--out is missing: name a folder for the results")
	}
	if b.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	programs, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	if b.gateway, err = stack.Build(ctx, root, programs, stack.Gateway); err != nil {
		return err
	}
	if b.everything, err = stack.Build(ctx, root, programs, stack.Everything); err != nil {
		return err
	}
	return b.all(ctx, *filter)
}

// all makes the runs one after the other, tells what is wrong, and writes the results, whatever they are.
func (b bench) all(ctx context.Context, filter string) error {
	var found results.Conformance
	failed := 0
	for _, s := range suites {
		if !strings.Contains(s.name(), filter) || b.direct && !s.native() {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r := b.run(ctx, s)
		found.Suites = append(found.Suites, r)
		report(r)
		if r.Failed() {
			failed++
		}
	}
	if len(found.Suites) == 0 {
		return fmt.Errorf("--only: no run has %q in its name", filter)
	}
	if err := errors.Join(os.MkdirAll(b.out, 0o755), results.Write(b.out, results.ConformanceFile, found)); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs failed", failed, len(found.Suites))
	}
	return nil
}

func report(r results.Suite) {
	count := map[results.Outcome]int{}
	for _, c := range r.Checks {
		count[c.Outcome]++
	}
	fmt.Printf("%-40s %3d pass  %3d do not apply  %3d fail\n", r.Name, count[results.Pass], count[results.Absent], count[results.Fail])
	if r.Failure != "" {
		fmt.Println("  FAIL", r.Failure)
	}
	for _, c := range r.Checks {
		if c.Outcome == results.Fail {
			fmt.Printf("  FAIL %s: %s\n", c.Name, c.Detail)
		}
	}
}
