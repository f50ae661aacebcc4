// Command compatibility makes docs/compatibility.md of what the interoperability and the conformance runs found. Nothing in it
// is written by hand, and the same results make the same document.
//
//	go run ./test/compatibility --results DIR            DIR is the --out of test/interop and test/conformance
//	  --doc FILE                                         instead of docs/compatibility.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/diverge-network/gateway/test/results"
	"github.com/diverge-network/gateway/test/stack"
)

func main() {
	if err := compatibility(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compatibility:", err)
		os.Exit(1)
	}
}

func compatibility(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("compatibility", flag.ExitOnError)
	dir := flags.String("results", "", "folder that has the results")
	doc := flags.String("doc", "", "file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		return errors.New("--results is missing: name the folder that test/interop and test/conformance wrote to")
	}
	var (
		interop     results.Interop
		conformance results.Conformance
	)
	err := errors.Join(results.Read(*dir, results.InteropFile, &interop), results.Read(*dir, results.ConformanceFile, &conformance))
	if err != nil {
		return fmt.Errorf("the results of both test/interop and test/conformance are needed, written by their --out %s: %w", *dir, err)
	}
	if *doc == "" {
		root, err := stack.Root(ctx)
		if err != nil {
			return err
		}
		*doc = filepath.Join(root, "docs", "compatibility.md")
	}
	return os.WriteFile(*doc, render(interop, conformance), 0o644)
}
