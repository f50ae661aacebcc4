package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/diverge-network/gateway/test/interop/report"
	"github.com/diverge-network/gateway/test/results"
	"github.com/diverge-network/gateway/test/stack"
)

const (
	runWithin  = 90 * time.Second
	stopWithin = 15 * time.Second
)

// logs is the folder for what a case's processes write.
func (r runner) logs(a attempt) (string, error) {
	dir := filepath.Join(r.out, "interop", strings.ReplaceAll(a.name(), "/", "_"))
	return dir, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

// client runs a client against a gateway in front of the upstream, and puts what came of it into result.
func (r runner) client(ctx context.Context, a attempt, result *results.Run) {
	if err := r.tryClient(ctx, a, result); err != nil {
		result.Failure = err.Error()
	}
}

func (r runner) tryClient(ctx context.Context, a attempt, result *results.Run) (err error) {
	logs, err := r.logs(a)
	if err != nil {
		return err
	}
	upstream, url, err := stack.StartUpstream(r.upstream, a.farSide == results.Stateless, logs)
	if err != nil {
		return err
	}
	cfg := stack.Config{Gateway: r.gateway, Container: container, Serve: a.serve, Upstream: upstream, URL: url, Logs: logs}
	if a.farSide == results.Stateless {
		cfg.FarSide = results.Modern
	}
	s, err := stack.Up(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Down()) }()

	cmd := exec.Command("./run", "--url", s.MCP, "--mode", a.mode.name)
	cmd.Dir = filepath.Join(r.folder, a.folder)
	p, err := stack.Start("client", cmd, logs)
	if err != nil {
		return err
	}
	lines, listened := listen(ctx, p)
	if listened == nil {
		listened = p.Await(stopWithin)
	} else {
		listened = errors.Join(listened, p.Stop(stopWithin))
	}
	return errors.Join(record(lines, a, result), unexplained(listened, result))
}

// unexplained is how the client ended, but for the exit status that a failed check has anyway.
func unexplained(ended error, result *results.Run) error {
	var exit *exec.ExitError
	if errors.As(ended, &exit) && exit.ExitCode() > 0 && result.Failed() {
		return nil
	}
	return ended
}

// listen reads what a client says until it ends, runWithin at most.
func listen(ctx context.Context, p *stack.Process) ([]string, error) {
	timer := time.NewTimer(runWithin)
	defer timer.Stop()
	var lines []string
	for {
		select {
		case line, ok := <-p.Lines:
			if !ok {
				return lines, nil
			}
			lines = append(lines, line)
		case <-timer.C:
			return lines, fmt.Errorf("the client did not end within %v", runWithin)
		case <-ctx.Done():
			return lines, ctx.Err()
		}
	}
}

// record puts the client's lines into result. Every check that has to be made is there afterwards.
func record(lines []string, a attempt, result *results.Run) error {
	var wrong []error
	made := map[string]results.Check{}
	var order []string
	for i, text := range lines {
		var line report.Line
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			wrong = append(wrong, fmt.Errorf("line %d of the client is no JSON: %q", i+1, text))
			continue
		}
		switch {
		case i == 0 && line.Client != "":
			result.Program, result.Version, result.Revision = line.Client, line.Version, line.Revision
		case i == 0:
			wrong = append(wrong, fmt.Errorf("the client's first line does not say who it is: %q", text))
		case line.Check == "" || line.OK == nil && line.Absent == "":
			wrong = append(wrong, fmt.Errorf("line %d of the client is no check: %q", i+1, text))
		default:
			if _, twice := made[line.Check]; twice {
				wrong = append(wrong, fmt.Errorf("the client makes the check %s twice", line.Check))
			}
			made[line.Check] = outcome(line)
			order = append(order, line.Check)
		}
	}
	for _, name := range a.checks {
		c, ok := made[name]
		if !ok {
			c = results.Check{Name: name, Outcome: results.Fail, Detail: "the client did not make this check"}
		}
		delete(made, name)
		result.Checks = append(result.Checks, c)
	}
	for _, name := range order {
		if c, ok := made[name]; ok {
			delete(made, name)
			result.Checks = append(result.Checks, c)
		}
	}
	if len(result.Checks) == 0 {
		wrong = append(wrong, errors.New("the client made no check"))
	}
	if result.Revision != a.mode.revision {
		wrong = append(wrong, fmt.Errorf("revision %s has to be negotiated, not %q", a.mode.revision, result.Revision))
	}
	return errors.Join(wrong...)
}

func outcome(line report.Line) results.Check {
	c := results.Check{Name: line.Check, About: line.About}
	switch {
	case line.Absent != "":
		c.Outcome, c.Detail = results.Absent, line.Absent
	case *line.OK:
		c.Outcome = results.Pass // its detail is for whoever runs the program by hand
	default:
		c.Outcome, c.Detail = results.Fail, line.Detail
	}
	return c
}
