package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/answer/upstream"
)

// provider answers for some containers from one MCP server, with a session of its own for each.
type provider struct {
	gateway    string
	containers []string
	upstream   string   // URL; "": command
	command    []string // program and arguments
	log        *slog.Logger
}

// run answers until ctx ends, and returns when everything it began has ended. An error of one container ends them all: it is
// about the configuration, and true of every one.
func (p *provider) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, len(p.containers))
	var running sync.WaitGroup
	for i, id := range p.containers {
		running.Go(func() {
			if failures[i] = p.answer(ctx, id); failures[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(failures...)
}

// answer serves one container until ctx ends.
func (p *provider) answer(ctx context.Context, id string) (err error) {
	log := p.log.With("container", id)
	server, err := upstream.New(upstream.Config{
		URL:     p.upstream,
		Command: p.command,
		Name:    "gateway-answer",
		Version: readBuild().version,
		Logger:  log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	answering := &answer.Server{Gateway: p.gateway, Container: id, Handler: server, Logger: p.log}
	return answering.Run(ctx)
}
