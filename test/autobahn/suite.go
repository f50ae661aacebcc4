package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/diverge-network/gateway/test/stack"
)

// agent is the name that the suite has for what it tries.
const agent = "gateway"

// stopWithin bounds how long the suite may take to end.
const stopWithin = 10 * time.Second

// patience is how many seconds the suite waits for an end of the connection that is due. Its own is one, which a busy
// machine takes at times; a case that passes does not wait for it.
const patience = 5

// suite is the program and what it is told.
type suite struct {
	wstest string // its command
	dir    string // for everything it writes
	only   string // pattern of the cases to run; empty for all
}

// spec is what wstest reads of its settings.
type spec struct {
	URL     string         `json:"url,omitempty"` // that the fuzzing server listens at
	Servers []tried        `json:"servers,omitempty"`
	Outdir  string         `json:"outdir"`
	Options map[string]int `json:"options"`
	Cases   []string       `json:"cases"`
	Exclude []string       `json:"exclude-cases"`
}

type tried struct {
	Agent string `json:"agent"`
	URL   string `json:"url"`
}

// of is the suite for one half.
func (s suite) of(name string) suite {
	s.dir = filepath.Join(s.dir, name)
	return s
}

func (s suite) reports() string { return filepath.Join(s.dir, "reports") }

// command writes the spec and returns the command that runs by it.
func (s suite) command(mode string, sp spec) (*exec.Cmd, error) {
	sp.Outdir = s.reports()
	sp.Options = map[string]int{"openHandshakeTimeout": 2 * patience, "closeHandshakeTimeout": patience}
	if sp.Servers != nil {
		sp.Options["serverConnectionDropTimeout"] = patience
	}
	sp.Cases = []string{"*"}
	if s.only != "" {
		sp.Cases = []string{s.only}
	}
	sp.Exclude = notNegotiated
	b, err := json.MarshalIndent(sp, "", "  ")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.dir, "spec.json")
	if err := errors.Join(os.MkdirAll(s.dir, 0o755), os.WriteFile(file, b, 0o644)); err != nil {
		return nil, err
	}
	cmd := exec.Command(s.wstest, "--mode", mode, "--spec", file, "--webport", "0")
	cmd.Dir = s.dir
	return cmd, nil
}

// fuzzingClient runs the cases against a server, to their end.
func (s suite) fuzzingClient(ctx context.Context, url string) error {
	cmd, err := s.command("fuzzingclient", spec{Servers: []tried{{Agent: agent, URL: url}}})
	if err != nil {
		return err
	}
	p, err := stack.Start("wstest", cmd, s.dir)
	if err != nil {
		return err
	}
	go discard(p.Lines)
	select {
	case <-p.Ended():
		return p.Await(stopWithin)
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("the cases did not end: %w", context.Cause(ctx)), p.Stop(stopWithin))
	}
}

// fuzzingServer starts the server that a client asks for the cases.
func (s suite) fuzzingServer() (url string, stop func() error, err error) {
	p, address, err := stack.StartListening("wstest", s.dir, func(address string) (*exec.Cmd, error) {
		return s.command("fuzzingserver", spec{URL: "ws://" + address})
	})
	if err != nil {
		return "", nil, err
	}
	go discard(p.Lines)
	return "ws://" + address, func() error { return p.Stop(stopWithin) }, nil
}

// discard reads what is in the process's log anyway.
func discard(lines <-chan string) {
	for range lines {
	}
}
