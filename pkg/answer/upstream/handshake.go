package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// offered is the revision we ask for; spoken are those we take for an answer. The stateless revision has no handshake
// and is not among them.
const offered = "2025-11-25"

var spoken = []string{offered, "2025-06-18", "2025-03-26", "2024-11-05"}

// connect opens a link and makes a session on it, within the connect timeout.
func (k *keeper) connect() (*session, error) {
	ctx, cancel := context.WithTimeout(k.life, k.cfg.ConnectTimeout)
	defer cancel()
	l, err := k.dialer.dial(ctx, k.log)
	if err != nil {
		return nil, &connectError{err}
	}
	s := newSession(k, l)
	if err := s.initialize(ctx, k.cfg.Name, k.cfg.Version); err != nil {
		if ctx.Err() != nil && k.life.Err() == nil {
			err = fmt.Errorf("the handshake did not end within %v", k.cfg.ConnectTimeout)
		}
		s.fail(err)
		k.tasks.Go(s.close)
		return nil, &connectError{err}
	}
	s.link.established(s)
	return s, nil
}

// initialize is MCP's handshake. No capability is declared: requests of the server's own have nobody to go to.
func (s *session) initialize(ctx context.Context, name, version string) error {
	type implementation struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	params, err := json.Marshal(struct {
		ProtocolVersion string         `json:"protocolVersion"`
		Capabilities    struct{}       `json:"capabilities"`
		ClientInfo      implementation `json:"clientInfo"`
	}{ProtocolVersion: offered, ClientInfo: implementation{name, version}})
	if err != nil {
		return err
	}
	got, err := s.call(ctx, "initialize", params)
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
	s.server = strings.TrimSpace(result.ServerInfo.Name + " " + result.ServerInfo.Version)
	s.link.negotiated(result.ProtocolVersion)
	if err := s.notify("notifications/initialized", nil); err != nil {
		return errors.Join(errors.New("notifications/initialized failed"), err)
	}
	return nil
}
