package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var _ answer.Handler = (*Upstream)(nil)

// Answer relays one ask: the method's params to the server, its result or error back. A server that cannot be reached,
// or is lost before it answered, is an error that says so. A request is sent a second time only when the server
// certainly did not run it.
func (u *Upstream) Answer(ctx context.Context, k codec.Kind, params []byte) ([]byte, error) {
	method := k.Method()
	if method == "" {
		return nil, answer.ErrNotServed
	}
	u.start()
	u.counters.calls.Add(1)
	if bytes.Equal(params, []byte("null")) {
		params = nil // the ask's word for "none" (protocol R4); in JSON-RPC the member is left out
	}
	got, err := u.request(ctx, method, params)
	if err != nil {
		return nil, err
	}
	if got.err != nil {
		return nil, theirs(got.err)
	}
	u.inspect(k, got.result)
	return got.result, nil
}

func (u *Upstream) request(ctx context.Context, method string, params json.RawMessage) (reply, error) {
	var lost *session
	for {
		s, err := u.acquire(ctx, lost)
		if err != nil {
			return reply{}, err
		}
		got, err := s.call(ctx, method, params)
		var broken *brokenError
		var refusal *refusedError
		switch {
		case err == nil:
			if got.err == nil {
				s.useful.Store(true)
			}
			return got, nil
		case errors.As(err, &broken) && broken.unexecuted && lost == nil:
			u.counters.repeated.Add(1)
			lost = s
			continue
		case errors.As(err, &broken):
			return reply{}, unanswered(err)
		case errors.As(err, &refusal):
			if object := refusal.object(); object != nil {
				return reply{err: object}, nil
			}
			return reply{}, refused(err)
		}
		return reply{}, err
	}
}

// inspect logs a result that the protocol does not take for one (protocol D2). It is relayed all the same: the gateway
// tells the caller what is wrong with it, and a newer gateway may know better.
func (u *Upstream) inspect(k codec.Kind, result []byte) {
	frame := codec.GetBuffer(len(result) + 1)
	defer frame.Release()
	frame.B = codec.AppendResult(frame.B, result)
	if _, err := codec.DecodeAnswer(k, frame.B); err != nil {
		u.log.Warn("the MCP server's result cannot be read by a gateway", "method", k.Method(), "error", err)
	}
}

// object is the JSON-RPC error in the refusal's body, if there is one.
func (e *refusedError) object() error {
	msg, err := codec.ParseMessage(e.body)
	if err != nil || msg.Form != codec.FormResponse || len(msg.Error) == 0 {
		return nil
	}
	object, err := codec.ParseError(msg.Error)
	if err != nil {
		return nil
	}
	return &jsonrpc.Error{Code: int64(object.Code), Message: object.Message, Data: object.Data}
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
func (u *Upstream) Notifications(ctx context.Context, send func(notification []byte) error) error {
	return u.relay(ctx, u.feed.open(), send)
}

func (u *Upstream) relay(ctx context.Context, l *listener, send func(notification []byte) error) error {
	defer u.feed.close(l)
	u.start()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.life, cancel)()
	// send fails for good when the path has ended; anything else is about this one notification.
	err := l.run(ctx, func(notification []byte) error {
		err := send(notification)
		if err == nil || errors.Is(err, answer.ErrPathEnded) {
			return err
		}
		u.counters.dropped.Add(1)
		u.log.Warn("dropped a notification of the MCP server", "error", err)
		return nil
	})
	if errors.Is(err, answer.ErrPathEnded) {
		return nil
	}
	return err
}
