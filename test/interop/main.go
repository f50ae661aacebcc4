// Command interop runs other people's MCP clients, and servers of the five kinds, against the gateway, each in processes of its
// own. README.md says how, cases.go which.
//
//	go run ./test/interop --install         what the programs need, once
//	go run ./test/interop --out DIR         every case; writes DIR/interop.json, exit status 1 if anything is wrong
//	  --only go/legacy                      the cases whose name has this
//	go run ./test/interop --list            the cases' names
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
	if err := interop(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func interop(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("interop", flag.ExitOnError)
	out := flags.String("out", "", "folder for the results")
	filter := flags.String("only", "", "run only the cases whose name has this")
	list := flags.Bool("list", false, "print the cases' names, and run nothing")
	justInstall := flags.Bool("install", false, "install what the programs need, and run nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var chosen []attempt
	for _, a := range attempts() {
		if strings.Contains(a.name(), *filter) {
			chosen = append(chosen, a)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("--only: no case has %q in its name; --list shows them", *filter)
	}
	if *list {
		for _, a := range chosen {
			fmt.Println(a.name())
		}
		return nil
	}
	root, err := stack.Root(ctx)
	if err != nil {
		return err
	}
	r := runner{folder: filepath.Join(root, "test", "interop")}
	failures := r.install(ctx, chosen)
	if *justInstall {
		return failures.all()
	}
	if *out == "" {
		return errors.New("--out is missing: name a folder for the results")
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	programs, err := os.MkdirTemp("", "interop")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	if r.gateway, err = stack.Build(ctx, root, programs, stack.Gateway); err != nil {
		return err
	}
	if r.upstream, err = stack.Build(ctx, root, programs, stack.Upstream); err != nil {
		return err
	}
	return r.run(ctx, chosen, failures)
}

// run makes the cases one after the other, tells what is wrong, and writes the results, whatever they are.
func (r runner) run(ctx context.Context, chosen []attempt, uninstalled failures) error {
	var found results.Interop
	failed := 0
	for _, a := range chosen {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		result := results.Run{Folder: a.folder, Mode: a.mode.name, FarSide: a.farSide}
		switch {
		case uninstalled[a.folder] != nil:
			result.Failure = uninstalled[a.folder].Error()
		case a.provider:
			r.provider(ctx, a, &result)
		default:
			r.client(ctx, a, &result)
		}
		if a.provider {
			found.Providers = append(found.Providers, result)
		} else {
			found.Clients = append(found.Clients, result)
		}
		tell(a, result)
		if result.Failed() {
			failed++
		}
	}
	if err := errors.Join(os.MkdirAll(r.out, 0o755), results.Write(r.out, results.InteropFile, found)); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, len(chosen))
	}
	return nil
}

func tell(a attempt, r results.Run) {
	count := map[results.Outcome]int{}
	for _, c := range r.Checks {
		count[c.Outcome]++
	}
	fmt.Printf("%-36s %3d pass  %3d absent  %3d fail\n", a.name(), count[results.Pass], count[results.Absent], count[results.Fail])
	if r.Failure != "" {
		fmt.Println("  FAIL", r.Failure)
	}
	for _, c := range r.Checks {
		if c.Outcome == results.Fail {
			fmt.Printf("  FAIL %s: %s\n", c.Name, c.Detail)
		}
	}
}
