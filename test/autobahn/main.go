// Command autobahn runs the Autobahn test suite against both roles of internal/wsock: an echo server on its accepting side,
// which the gateway's outside listener uses, and an echo client on its dialling side, which pkg/answer uses.
//
//	go run ./test/autobahn --install     a virtual environment of Python 2.7, the newest that the suite runs on, once
//	go run ./test/autobahn               both halves at once, every case; exit status 1 if anything is wrong
//	  --only 6.4.*                       the cases of this pattern; whether all are there is not judged then
//	  --out DIR                          keep the suite's reports, and what it wrote, in DIR/autobahn
//
// groups.go says which cases there must be, lenient.go which may be less than strict, and why.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/diverge-network/gateway/test/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := autobahn(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "autobahn:", err)
		os.Exit(1)
	}
}

func autobahn(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("autobahn", flag.ExitOnError)
	out := flags.String("out", "", "folder in which to keep the reports; without it they are kept only if something is wrong")
	only := flags.String("only", "", "run only the cases of this pattern")
	justInstall := flags.Bool("install", false, "install what is needed, and run nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := stack.Root(ctx)
	if err != nil {
		return err
	}
	tool := filepath.Join(root, "test", "autobahn")
	if err := install(ctx, tool); err != nil || *justInstall {
		return err
	}
	s := suite{wstest: filepath.Join(tool, ".venv", "bin", "wstest"), only: *only}
	if s.dir, err = folder(*out); err != nil {
		return err
	}
	if err := both(ctx, s); err != nil {
		return fmt.Errorf("%w\nthe reports are in %s", err, s.dir)
	}
	if *out == "" {
		return os.RemoveAll(s.dir)
	}
	return nil
}

// folder makes an empty folder for the reports.
func folder(out string) (string, error) {
	if out == "" {
		return os.MkdirTemp("", "autobahn")
	}
	dir, err := filepath.Abs(filepath.Join(out, "autobahn"))
	return dir, errors.Join(err, os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}
