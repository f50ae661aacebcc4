package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/diverge-network/gateway/test/results"
	"github.com/diverge-network/gateway/test/stack"
)

const (
	suiteWithin = 5 * time.Minute // bounds one run of the suite
	container   = "conformance"
)

// bench is what all runs of the suite use.
type bench struct {
	folder     string // this room
	out        string // folder of the results
	gateway    string // programs
	everything string
	direct     bool // no gateway
}

// run makes one run of the suite.
func (b bench) run(ctx context.Context, s suite) results.Suite {
	r := results.Suite{Name: s.name(), Tool: "@modelcontextprotocol/conformance@" + s.version, Revision: s.revision, FarSide: s.farSide}
	checks, err := b.try(ctx, s)
	r.Checks = checks
	if err != nil {
		r.Failure = err.Error()
	}
	return r
}

func (b bench) try(ctx context.Context, s suite) (judged []results.Check, err error) {
	exceptions, err := readBaseline(s.baseline)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.out, "conformance", strings.ReplaceAll(s.name(), "/", "_"))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	url, down, err := b.up(s, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, down()) }()

	written := filepath.Join(dir, "scenarios")
	ctx, cancel := context.WithTimeout(ctx, suiteWithin)
	defer cancel()
	args := append([]string{tool(b.folder, s.version), "server", "--url", url, "-o", written}, s.args()...)
	if !b.direct {
		args = append(args, "--expected-failures", filepath.Join(b.folder, "baseline", s.baseline+".yml"))
	}
	cmd := exec.CommandContext(ctx, node(b.folder), args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	said, ended := cmd.CombinedOutput()
	if err := os.WriteFile(filepath.Join(dir, "suite.log"), said, 0o644); err != nil {
		return nil, err
	}
	ran, err := readScenarios(written)
	if err != nil {
		return nil, errors.Join(ended, err)
	}
	if b.direct {
		return judge(s.required, nil, only(s.required, ran)), nil
	}
	judged = judge(s.required, exceptions, ran)
	if ended != nil {
		ended = fmt.Errorf("the suite itself says no: %w; it wrote %s", ended, filepath.Join(dir, "suite.log"))
	}
	return judged, ended
}

// only leaves out what the gateway is not asked for.
func only(required []string, ran map[string][]check) map[string][]check {
	left := map[string][]check{}
	for _, name := range required {
		if checks, ok := ran[name]; ok {
			left[name] = checks
		}
	}
	return left
}

// up starts what the suite is run against.
func (b bench) up(s suite, logs string) (url string, down func() error, err error) {
	upstream, url, err := stack.StartEverything(b.everything, s.farSide == results.Stateless, logs)
	if err != nil {
		return "", nil, err
	}
	if b.direct {
		return url, func() error { return upstream.Stop(10 * time.Second) }, nil
	}
	cfg := stack.Config{Gateway: b.gateway, Container: container, Upstream: upstream, URL: url, Logs: logs}
	if s.farSide == results.Stateless {
		cfg.FarSide = results.Modern
	}
	st, err := stack.Up(cfg)
	if err != nil {
		return "", nil, err
	}
	return st.MCP, st.Down, nil
}
