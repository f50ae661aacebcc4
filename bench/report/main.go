//go:build linux

// Command report measures the gateway beside its floors and its peers, and writes docs/performance.md: the figures into its
// tables, the charts beside it, and all that was measured as JSON.
//
//	go run ./bench/report          everything; under 15 minutes
//	go run ./bench/report -short   the same in under 2 minutes, for a look
//
// bench/README.md says what else there is. It is run in the module's folder.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/render"
	"github.com/diverge-network/gateway/bench/suite"
)

type flags struct {
	short, render, noPeers, dry bool
	only, program, docs         string
	profile                     string
}

func main() {
	child.Main()
	var f flags
	flag.BoolVar(&f.short, "short", false, "measure for a look, in under 2 minutes")
	flag.StringVar(&f.only, "only", "", "measure these parts alone and print them: "+strings.Join(suite.Parts(), ", "))
	flag.BoolVar(&f.noPeers, "no-peers", false, "do without the peers from npm and the Go module proxy")
	flag.BoolVar(&f.render, "render", false, "measure nothing: make tables and charts of the JSON that is there")
	flag.BoolVar(&f.dry, "print", false, "print the tables and write nothing")
	flag.StringVar(&f.program, "gateway", "", "measure this program instead of building one")
	flag.StringVar(&f.docs, "docs", "docs", "folder of performance.md")
	flag.StringVar(&f.profile, "profile", "", "measure nothing: write profiles of a gateway under 64 callers into this folder")
	flag.Parse()
	if err := run(f); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(f flags) error {
	if f.profile != "" {
		return suite.Profile(f.profile, 10*time.Second)
	}
	results := filepath.Join(f.docs, "performance", "results.json")
	r, err := f.results(results)
	if err != nil {
		return err
	}
	if f.dry || f.only != "" {
		names := append([]string{"machine", "targets"}, suite.Parts()...)
		for _, name := range append(names, "memory", "skipped") {
			if text := render.Block(name, r); text != "" {
				fmt.Printf("%s\n\n", text)
			}
		}
		return nil
	}
	return write(f.docs, results, r)
}

// results measures, or reads what was measured.
func (f flags) results(file string) (*suite.Results, error) {
	if f.render {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := new(suite.Results)
		return r, json.Unmarshal(b, r)
	}
	o := suite.Options{Plan: suite.Full, Command: strings.Join(append([]string{"go run ./bench/report"}, os.Args[1:]...), " "), Peers: filepath.Join("bench", "peers"), Program: f.program}
	if f.short {
		o.Plan = suite.Short
	}
	if f.noPeers {
		o.Peers = ""
	}
	if f.only != "" {
		o.Only = strings.Split(f.only, ",")
	}
	began := time.Now()
	o.Log = func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "[%4.0f s] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	return suite.Run(o)
}

func write(docs, results string, r *suite.Results) error {
	name := filepath.Join(docs, "performance.md")
	before, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	after, err := render.Document(string(before), r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := render.Charts(filepath.Join(docs, "performance"), r); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(results, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(after), 0o644)
}
