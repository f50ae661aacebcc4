package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/answer/upstream"
)

// provider answers for containers from one MCP server.
type provider struct {
	gateway    string
	token      bearer      // nil: none
	tls        *tls.Config // for wss
	containers []string    // everyContainer alone: all that the gateway lists
	upstream   string      // URL; "": command
	command    []string    // program and arguments
	drain      time.Duration
	shared     bool // one session with the MCP server, not one for each container
	log        *slog.Logger
}

// source makes what answers a container, as answer.Fleet has it.
type source func(container string) (h answer.Handler, release func(), err error)

// run answers until ctx ends, and returns when everything it began has ended.
func (p *provider) run(ctx context.Context) error {
	from := source(p.session)
	if p.shared {
		shared, err := upstream.NewShared(p.config(p.log))
		if err != nil {
			return err
		}
		defer p.close(shared, p.log)
		from = func(id string) (answer.Handler, func(), error) { return shared.For(id), nil, nil }
	}
	if p.containers[0] == everyContainer {
		fleet := &answer.Fleet{Gateway: p.gateway, Token: p.token, TLS: p.tls, Handler: from, Drain: p.drain, Logger: p.log}
		return fleet.Run(ctx)
	}
	return p.answerEach(ctx, from)
}

// answerEach serves the containers that are named. An error of one ends them all: it is about the configuration, and true
// of every one.
func (p *provider) answerEach(ctx context.Context, from source) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, len(p.containers))
	var running sync.WaitGroup
	for i, id := range p.containers {
		running.Go(func() {
			if failures[i] = p.answer(ctx, id, from); failures[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(failures...)
}

// answer serves one container until ctx ends.
func (p *provider) answer(ctx context.Context, id string, from source) error {
	h, release, err := from(id)
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	server := &answer.Server{Gateway: p.gateway, Token: p.token, TLS: p.tls, Container: id, Handler: h, Drain: p.drain, Logger: p.log}
	return server.Run(ctx)
}

// session is the source of a session with the MCP server for each container, begun with its first ask.
func (p *provider) session(id string) (answer.Handler, func(), error) {
	log := p.log.With("container", id)
	own, err := upstream.New(p.config(log))
	if err != nil {
		return nil, nil, err
	}
	return own, func() { p.close(own, log) }, nil
}

func (p *provider) config(log *slog.Logger) upstream.Config {
	return upstream.Config{
		URL:     p.upstream,
		Command: p.command,
		Name:    "gateway-answer",
		Version: readBuild().version,
		Logger:  log,
	}
}

func (p *provider) close(session io.Closer, log *slog.Logger) {
	if err := session.Close(); err != nil {
		log.Warn("could not close the session with the MCP server", "error", err)
	}
}
