package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// seat is one container's place at a keeper: the Handler of its asks.
type seat struct {
	keeper    *keeper
	container string // for the log; empty: there is only one

	// The feed's mu guards these.
	paths  []*path       // replaced, never changed: the open ones, one but for moments
	told   uint64        // notifications that were for this container alone
	heard  bool          // a path was open, or none came in time
	opened chan struct{} // closed with the first path, if a call waits for that
	until  time.Time     // the end of that wait
}

// log is made when it is needed: thousands of seats have nothing to say.
func (s *seat) log() *slog.Logger {
	if s.container == "" {
		return s.keeper.log
	}
	return s.keeper.log.With("container", s.container)
}

// Answer relays one ask: the method's params to the server, its result or error back. A server that cannot be reached, or
// is lost before it answered, or answers something else, is an error that says only so much. A request is sent a second time only when the server
// certainly did not run it.
//
// The notifications that came before the answer go out first, so far as the container's path takes them in time. A call with
// a progress token waits a little for the container's first path.
func (s *seat) Answer(ctx context.Context, k codec.Kind, params []byte) ([]byte, error) {
	method := k.Method()
	if method == "" {
		return nil, answer.ErrNotServed
	}
	s.keeper.start()
	s.keeper.counters.calls.Add(1)
	a, err := newAsked(params)
	if err != nil {
		return nil, err
	}
	if a.given != nil {
		s.keeper.feed.attended(ctx, s)
		if tokens := s.keeper.tokens; tokens != nil {
			var forget func()
			a.token, forget = tokens.issue(s, a.given)
			defer forget()
		}
	}
	got, err := s.keeper.request(ctx, method, a)
	if err != nil {
		return nil, s.outward(err)
	}
	s.keeper.feed.flushed(ctx, s)
	if got.err != nil {
		return nil, s.outward(theirs(got.err))
	}
	s.keeper.inspect(k, got.result)
	return got.result, nil
}

// request sends one request to the server. Errors: *failure, *codec.Error, or ctx's cause.
func (k *keeper) request(ctx context.Context, method string, a asked) (reply, error) {
	for repeated := false; ; {
		s, err := k.acquire(ctx)
		if err != nil {
			return reply{}, err
		}
		params, err := s.outgoing(a)
		if err != nil {
			return reply{}, err
		}
		got, err := s.request(ctx, method, params)
		var broken *brokenError
		var refusal *refusedError
		var odd *unusableError
		switch {
		case err == nil:
			if got.err == nil {
				s.useful.Store(true)
			}
			return got, nil
		case errors.As(err, &broken) && broken.unexecuted && !repeated: // in a new session, or in this one if it lives
			k.counters.repeated.Add(1)
			repeated = true
			continue
		case errors.As(err, &broken):
			return reply{}, unanswered(err)
		case errors.As(err, &refusal):
			if object := refusal.object(); object != nil {
				return reply{err: object}, nil
			}
			return reply{}, refused(refusal)
		case errors.As(err, &odd):
			return reply{}, unusable(err)
		}
		return reply{}, err
	}
}

// inspect logs a result that the protocol does not take for one (protocol D2). It is relayed all the same: the gateway
// tells the caller what is wrong with it, and a newer gateway may know better.
func (k *keeper) inspect(kind codec.Kind, result []byte) {
	frame := codec.GetBuffer(len(result) + 1)
	defer frame.Release()
	frame.B = codec.AppendResult(frame.B, result)
	if _, err := codec.DecodeAnswer(kind, frame.B); err != nil {
		k.log.Warn("the MCP server's result cannot be read by a gateway", "method", kind.Method(), "error", err)
	}
}

// theirs turns the server's JSON-RPC error into the one that is relayed.
func theirs(err error) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return unanswered(err)
	}
	if e.Code < math.MinInt32 || e.Code > math.MaxInt32 {
		return &codec.Error{Code: codeInternal, Message: fmt.Sprintf("%s (the MCP server's error code %d is out of range)", e.Message, e.Code), Data: e.Data}
	}
	return &codec.Error{Code: int32(e.Code), Message: e.Message, Data: e.Data}
}

// Notifications relays what the server says on its own account, until ctx ends. A lost server does not end it: the new
// session is announced by both list_changed notifications, since what happened in between was not heard.
func (s *seat) Notifications(ctx context.Context, send func(notification []byte) error) error {
	return s.relay(ctx, s.keeper.feed.open(s, send))
}

func (s *seat) relay(ctx context.Context, p *path) error {
	defer s.keeper.feed.close(p)
	s.keeper.start()
	select {
	case <-ctx.Done():
	case <-s.keeper.life.Done():
	case <-p.ended:
	}
	return nil
}
