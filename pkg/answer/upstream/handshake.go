package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// offered is the revision that a session with a handshake asks for.
	offered = "2025-11-25"
	// lateTimeout is how long a server that refused the handshake may still answer the probe.
	lateTimeout = time.Second
)

// spoken are the revisions with a handshake that we take for an answer.
var spoken = []string{offered, "2025-06-18", "2025-03-26", "2024-11-05"}

// implementation introduces one side to the other.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// unaskedError is a connection that was lost, or of no use, after the server was asked for its era: some servers do not
// survive a first request other than initialize.
type unaskedError struct{ cause error }

func (e *unaskedError) Error() string { return reason(e.cause) }
func (e *unaskedError) Unwrap() error { return e.cause }

// connect opens a link and makes a session on it, within the connect timeout. Each time it finds out the server's era,
// which may have changed, by asking. A server that is lost over the question is connected to again without it, and is not
// asked in future, until it fails without the question too.
func (k *keeper) connect() (*session, error) {
	ctx, cancel := context.WithTimeout(k.life, k.cfg.ConnectTimeout)
	defer cancel()
	asked := !k.unasked
	s, err := k.attempt(ctx, asked)
	var lost *unaskedError
	if asked && errors.As(err, &lost) && ctx.Err() == nil {
		k.log.Debug("the MCP server was lost over a question that it does not know; connecting again without it", "error", err)
		asked = false
		s, err = k.attempt(ctx, asked)
	}
	switch {
	case err == nil:
		k.unasked = !asked
		s.open()
		return s, nil
	case ctx.Err() != nil && k.life.Err() == nil:
		err = fmt.Errorf("the handshake did not end within %v", k.cfg.ConnectTimeout)
	}
	k.unasked = asked && lost != nil
	return nil, &connectError{err}
}

// attempt makes one connection.
func (k *keeper) attempt(ctx context.Context, asking bool) (*session, error) {
	l, err := k.dialer.dial(ctx, k.log)
	if err != nil {
		return nil, err
	}
	s := newSession(k, l)
	if err := s.begin(ctx, asking); err != nil {
		s.fail(err)
		k.tasks.Go(s.close)
		return nil, err
	}
	return s, nil
}

// begin finds out the server's era, if it is to be asked, and does what that era wants before the first request.
func (s *session) begin(ctx context.Context, asking bool) error {
	if !asking {
		return s.initialize(ctx)
	}
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make(chan finding, 1)
	s.tasks.Go(func() { found <- s.discover(asked) })

	silence := time.NewTimer(s.config.silence)
	defer silence.Stop()
	select {
	case f := <-found:
		switch {
		case f.version != "":
			return s.adopt(f)
		case s.ctx.Err() != nil, f.broken && !s.link.streamEach():
			return &unaskedError{f.cause}
		case f.unsent:
			return f.cause
		}
		s.log.Debug("the MCP server has sessions", "discovery", reason(f.cause))
		return s.initialize(ctx)
	case <-silence.C: // a server that is slow, or will never answer
	}
	err := s.initialize(ctx)
	if err == nil {
		return nil
	}
	late := time.NewTimer(lateTimeout)
	defer late.Stop()
	select {
	case f := <-found:
		if f.version != "" {
			return s.adopt(f)
		}
	case <-late.C:
	case <-ctx.Done():
	}
	if s.ctx.Err() != nil || !s.link.streamEach() {
		return &unaskedError{err}
	}
	return err
}

// initialize is the handshake of the revisions with sessions. No capability is declared: requests of the server's own have
// nobody to go to.
func (s *session) initialize(ctx context.Context) error {
	params, err := json.Marshal(struct {
		ProtocolVersion string         `json:"protocolVersion"`
		Capabilities    struct{}       `json:"capabilities"`
		ClientInfo      implementation `json:"clientInfo"`
	}{ProtocolVersion: offered, ClientInfo: s.introduction()})
	if err != nil {
		return err
	}
	got, err := s.call(ctx, methodInitialize, params)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if got.err != nil {
		return fmt.Errorf("initialize: the MCP server answered with an error: %w", got.err)
	}
	var result struct {
		ProtocolVersion string         `json:"protocolVersion"`
		ServerInfo      implementation `json:"serverInfo"`
	}
	if err := json.Unmarshal(got.result, &result); err != nil {
		return fmt.Errorf("initialize: the MCP server's answer cannot be read: %w", err)
	}
	if !slices.Contains(spoken, result.ProtocolVersion) {
		return fmt.Errorf("initialize: the MCP server speaks protocol version %q; known are %s", result.ProtocolVersion, strings.Join(spoken, ", "))
	}
	s.version = result.ProtocolVersion
	s.server = result.ServerInfo.String()
	s.link.negotiated(s.version, s.tools)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := s.notify(ctx, "notifications/initialized", nil); err != nil {
		return errors.Join(errors.New("notifications/initialized failed"), err)
	}
	return nil
}

func (s *session) introduction() implementation {
	return implementation{s.config.Name, s.config.Version}
}

func (i implementation) String() string { return strings.TrimSpace(i.Name + " " + i.Version) }

// open makes the server's notifications heard, as far as they can be, before the first ask is taken.
func (s *session) open() {
	if s.stateless.Load() {
		s.await(s.subscribe)
	} else {
		s.link.established(s)
	}
}

// await runs listen until the session ends, and returns when that has called opened, or after standaloneTimeout. What the
// first ask sets off should be heard.
func (s *session) await(listen func(opened func())) {
	heard := make(chan struct{})
	s.tasks.Go(func() {
		opened := sync.OnceFunc(func() { close(heard) })
		defer opened()
		listen(opened)
	})
	timer := time.NewTimer(standaloneTimeout)
	defer timer.Stop()
	select {
	case <-heard:
	case <-timer.C:
	case <-s.ctx.Done():
	}
}
