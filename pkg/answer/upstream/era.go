package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stateless are the revisions without sessions that we speak, newest first: every request stands for itself, and says in
// its _meta what a handshake would have agreed on.
var stateless = []string{"2026-07-28"}

const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
)

// Errors of the stateless revision.
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

// beginning reports whether a method belongs to the making of a session: its requests are not cancelled, and their failure
// makes nothing doubtful.
func beginning(method string) bool { return method == methodInitialize || method == methodDiscover }

// finding is what the question for a server's era has brought.
type finding struct {
	version string // the stateless revision to speak; empty: none
	server  string // the server's name and version, for the log

	cause  error // why there is no version
	silent bool  // the server has not said anything about it
	broken bool  // since the connection broke
	unsent bool  // or did not come about
}

// discover asks the server for its era. Only a result that names a stateless revision we speak is a yes.
func (s *session) discover(ctx context.Context) finding {
	wanted := stateless[0]
	f, offers := s.ask(ctx, wanted)
	if other := common(offers); f.version == "" && other != "" {
		f, _ = s.ask(ctx, other)
	}
	return f
}

// ask is one server/discover. offers are the revisions that a refusal names.
func (s *session) ask(ctx context.Context, version string) (f finding, offers []string) {
	params, err := s.discovery(version)
	if err != nil {
		return finding{cause: err, silent: true}, nil
	}
	got, err := s.call(ctx, methodDiscover, params)
	return readAnswer(got, err)
}

// discovery is the params of server/discover.
func (s *session) discovery(version string) (json.RawMessage, error) {
	members, err := s.declaration(version)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"_meta":{%s}}`, members), nil
}

// declaration is the members of _meta that a stateless request must have, without braces. No capability is declared: that
// is for the asking client to do.
func (s *session) declaration(version string) ([]byte, error) {
	info, err := json.Marshal(s.introduction())
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `%q:%q,%q:%s,%q:{}`,
		codec.MetaProtocolVersion, version, codec.MetaClientInfo, info, codec.MetaClientCapabilities), nil
}

// readAnswer reads the answer to server/discover.
func readAnswer(got reply, err error) (f finding, offers []string) {
	var broken *brokenError
	var refusal *refusedError
	switch {
	case errors.As(err, &refusal):
		if refusal.object() == nil {
			return finding{cause: err, silent: !refusal.unknown()}, nil
		}
		got.err = refusal.object()
	case errors.As(err, &broken):
		return finding{cause: err, silent: true, broken: true, unsent: broken.unexecuted}, nil
	case err != nil:
		return finding{cause: err, silent: true}, nil
	}
	if got.err != nil {
		var object *jsonrpc.Error
		if !errors.As(got.err, &object) {
			return finding{cause: got.err, silent: true}, nil
		}
		var data struct{ Supported []string }
		if object.Code == codeUnsupportedVersion && json.Unmarshal(object.Data, &data) == nil {
			offers = data.Supported
		}
		return finding{cause: fmt.Errorf("the MCP server answers server/discover with the error %d %s", object.Code, firstLine([]byte(object.Message), 200))}, offers
	}
	var result struct {
		SupportedVersions []string                   `json:"supportedVersions"`
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(got.result, &result); err != nil {
		return finding{cause: fmt.Errorf("the MCP server's answer to server/discover cannot be read: %w", err)}, nil
	}
	version := common(result.SupportedVersions)
	if version == "" {
		return finding{cause: fmt.Errorf("the MCP server names the protocol versions %q: none of them is %s", result.SupportedVersions, strings.Join(stateless, " or "))}, nil
	}
	var server implementation
	_ = json.Unmarshal(result.Meta[codec.MetaServerInfo], &server) // what it calls itself is for the log alone
	return finding{version: version, server: server.String()}, nil
}

// common is the newest stateless revision among versions that we speak too; empty: none.
func common(versions []string) string {
	for _, v := range stateless {
		if slices.Contains(versions, v) {
			return v
		}
	}
	return ""
}

// adopt makes the session a stateless one. To the server it is none: here it is the time in which the server is known to
// be there, and of this era.
func (s *session) adopt(f finding) error {
	declared, err := s.declaration(f.version)
	if err != nil {
		return err
	}
	s.version, s.server, s.declared = f.version, f.server, declared
	s.stateless.Store(true)
	s.link.negotiated(f.version, s.tools)
	return nil
}

func isStateless(version string) bool { return slices.Contains(stateless, version) }
