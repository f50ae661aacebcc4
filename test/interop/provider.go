package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/diverge-network/gateway/test/interop/report"
	"github.com/diverge-network/gateway/test/results"
	"github.com/diverge-network/gateway/test/stack"
)

const connectWithin = 20 * time.Second

// provider runs a server of the five kinds behind a gateway, calls it, and puts what came of it into result.
func (r runner) provider(ctx context.Context, a attempt, result *results.Run) {
	if err := r.tryProvider(ctx, a, result); err != nil {
		result.Failure = err.Error()
	}
}

func (r runner) tryProvider(ctx context.Context, a attempt, result *results.Run) (err error) {
	logs, err := r.logs(a)
	if err != nil {
		return err
	}
	s, err := stack.Up(stack.Config{Gateway: r.gateway, Container: container, Logs: logs})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Down()) }()

	cmd := exec.Command("./run", "--url", s.Base)
	cmd.Dir = filepath.Join(r.folder, a.folder)
	p, err := stack.Start("provider", cmd, logs)
	if err != nil {
		return err
	}
	var said report.Line
	line, err := p.Next(connectWithin)
	if err == nil {
		err = json.Unmarshal([]byte(line), &said)
	}
	if err == nil && said.Provider == "" {
		err = fmt.Errorf("the provider's first line does not say who it is: %q", line)
	}
	if err != nil {
		return errors.Join(err, p.Stop(stopWithin))
	}
	result.Program, result.Version, result.Revision = said.Provider, said.Version, a.mode.revision
	result.Checks = append([]results.Check{{Name: "requests", Outcome: results.Pass, About: "connects /requests"}},
		tryKinds(ctx, s.MCP, a.mode.revision)...)
	stopped := results.Check{Name: "stop", Outcome: results.Pass, About: "ends on SIGTERM"}
	if err := p.Stop(stopWithin); err != nil {
		stopped.Outcome, stopped.Detail = results.Fail, err.Error()
	}
	result.Checks = append(result.Checks, stopped)
	return nil
}
