package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	methodToolsChanged = "notifications/tools/list_changed"
	// maxPages bounds how much of a list is read over one call.
	maxPages = 64
)

// toolLimits bound what is remembered of one server's tools.
var toolLimits = toolheader.Limits{Tools: 4096, Bytes: 1 << 20}

// request is call for what a container asks. A stateless server may want arguments of a tool's calls in headers too: the
// lists of its tools that pass say which. Where it refuses a call for its headers, which it then certainly did not run, its
// list is read, and the call sent again if that has told anything new.
func (s *session) request(ctx context.Context, method string, params json.RawMessage) (reply, error) {
	if !s.stateless.Load() || !s.link.streamEach() {
		return s.call(ctx, method, params)
	}
	var before *toolheader.Tool
	calls := method == codec.CallTool.Method()
	if calls && !s.tools.Empty() {
		before = s.called(params)
	}
	lists := s.relisted.Load()
	got, err := s.call(ctx, method, params)
	switch {
	case method == codec.ListTools.Method() && err == nil && got.err == nil:
		s.listed(params, got.result)
	case calls && mismatched(got, err):
		if s.relist(ctx, lists); ctx.Err() != nil {
			return reply{}, context.Cause(ctx)
		}
		if s.called(params).Same(before) {
			break
		}
		s.counters.repeated.Add(1)
		return s.call(ctx, method, params)
	}
	return got, err
}

// called is the tool of a call, nil if nothing is known of it.
func (s *session) called(params []byte) *toolheader.Tool {
	var name string
	raw, err := codec.Member(params, "name")
	if err != nil || json.Unmarshal(raw, &name) != nil {
		return nil
	}
	return s.tools.Find([]byte(name))
}

// mismatched reports whether a call was refused for its headers.
func mismatched(got reply, err error) bool {
	var refusal *refusedError
	if errors.As(err, &refusal) {
		return refusal.is(codeHeaderMismatch)
	}
	var object *jsonrpc.Error
	return err == nil && errors.As(got.err, &object) && object.Code == codeHeaderMismatch
}

// listed takes in a list of tools that passes, the answer to a request with the params.
func (s *session) listed(params, result []byte) {
	if s.tools.Empty() && !toolheader.Mentioned(result) {
		return
	}
	cursor, err := codec.Member(params, "cursor")
	s.learn(result, err == nil && (cursor == nil || string(cursor) == "null"))
}

// learn takes in one page of the list of tools, and returns the cursor of the next one, raw. first: no page comes before.
func (s *session) learn(result []byte, first bool) (next []byte) {
	page, err := toolheader.Read(result)
	if err != nil {
		return nil
	}
	for _, invalid := range page.Invalid {
		s.log.Debug("a tool of the MCP server breaks the rules of "+toolheader.Key+": its calls get no headers", "tool", invalid.Name, "error", invalid.Reason)
	}
	s.tools.Learn(&page, first && page.Next == nil)
	return page.Next
}

// relist reads the server's list of tools, unless that was done since lists was noted.
func (s *session) relist(ctx context.Context, lists uint64) {
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	select {
	case s.relisting <- struct{}{}:
		defer func() { <-s.relisting }()
	case <-ctx.Done():
		return
	}
	if s.relisted.Load() != lists {
		return
	}
	defer s.relisted.Add(1)
	s.log.Debug("the MCP server misses arguments in headers; reading its list of tools")
	params := fmt.Appendf(nil, `{"_meta":{%s}}`, s.declared)
	for page := range maxPages {
		got, err := s.call(ctx, codec.ListTools.Method(), params)
		if err == nil {
			err = got.err
		}
		if err != nil {
			s.log.Debug("could not read the MCP server's list of tools", "error", reason(err))
			return
		}
		next := s.learn(got.result, page == 0)
		if next == nil {
			return
		}
		params = fmt.Appendf(nil, `{"_meta":{%s},"cursor":%s}`, s.declared, next)
	}
}
