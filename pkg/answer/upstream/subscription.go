package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/diverge-network/gateway/pkg/answer/internal/backoff"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
	// resubscribeCap bounds the wait before a subscription that keeps ending is begun again: each time both lists are
	// announced, and read again by many a client.
	resubscribeCap = 30 * time.Second
)

// subscription is one subscriptions/listen: the request by which a stateless server says what belongs to no request. It is
// answered at its end.
type subscription struct {
	id    int64
	ended chan reply
	begun chan struct{} // closed when it is acknowledged

	// The reader's, until begun is closed.
	acknowledged bool
	honoured     bool // the server will notify
}

// subscribe keeps a subscription open while the session lives, if the server has any. It calls opened when that has become
// clear. After a gap both lists are announced.
func (s *session) subscribe(opened func()) {
	defer s.counters.standalone.Store(false)
	retry := backoff.Backoff{Cap: resubscribeCap, Jitter: s.jitter}
	for gap := false; s.ctx.Err() == nil; gap = true {
		began := time.Now()
		again := s.listen(gap, func() {
			opened()
			if gap {
				s.missed()
			}
		})
		s.counters.standalone.Store(false)
		opened()
		if !again {
			return
		}
		if time.Since(began) >= settled {
			retry.Reset()
		}
		backoff.Wait(s.ctx, retry.Next())
	}
}

// listen begins a subscription and waits for its end. It reports whether another one makes sense. gap: it is not the first.
func (s *session) listen(gap bool, acknowledged func()) (again bool) {
	params := fmt.Appendf(nil, `{"notifications":{"toolsListChanged":true,"resourcesListChanged":true},"_meta":{%s}}`, s.declared)
	sub := &subscription{begun: make(chan struct{})}
	sub.id, sub.ended = s.register()
	defer s.forget(sub.id)
	s.subscription.Store(sub)
	if err := s.link.write(s.ctx, &jsonrpc.Request{ID: makeID(sub.id), Method: methodListen, Params: params}); err != nil {
		return s.unavailable(gap, err)
	}
	select {
	case <-sub.begun:
	case got := <-sub.ended:
		select {
		case <-sub.begun: // it was, just before
			return s.subscriptionEnded(sub, got)
		default:
		}
		if got.err == nil {
			got.err = errors.New("the server ended it before it had begun")
		}
		return s.unavailable(gap, got.err)
	case <-s.ctx.Done():
		return false
	}
	s.counters.standalone.Store(sub.honoured)
	acknowledged()
	select {
	case got := <-sub.ended:
		return s.subscriptionEnded(sub, got)
	case <-s.ctx.Done():
		return false
	}
}

// subscriptionEnded judges the end of a subscription that was acknowledged, and reports whether another one makes sense.
func (s *session) subscriptionEnded(sub *subscription, got reply) (again bool) {
	if !sub.honoured {
		s.log.Debug("the MCP server does not notify of changes")
		return false
	}
	s.log.Debug("the MCP server's notifications have ended; subscribing again", "error", got.err)
	return s.ctx.Err() == nil
}

// unavailable judges an attempt that failed, and reports whether another one makes sense. One that is refused behind a gap
// makes the session doubtful: the server may be another by now.
func (s *session) unavailable(gap bool, err error) (again bool) {
	var broken *brokenError
	var refusal *refusedError
	var object *jsonrpc.Error
	busy := true // or something that passes too
	level := slog.LevelWarn
	switch {
	case s.ctx.Err() != nil:
		return false
	case errors.As(err, &broken):
		return s.probe(err)
	case errors.As(err, &refusal):
		busy = refusal.status >= 500 || refusal.status == http.StatusTooManyRequests || refusal.status == http.StatusConflict
		if refusal.is(jsonrpc.CodeMethodNotFound) {
			level = slog.LevelDebug
		}
	case errors.As(err, &object):
		busy = object.Code == codeInternal
		if object.Code == jsonrpc.CodeMethodNotFound {
			level = slog.LevelDebug
		}
	}
	if busy {
		s.log.Debug("the MCP server does not take a subscription yet", "error", reason(err))
		return true
	}
	if !gap || s.probe(fmt.Errorf("%s was refused: %w", methodListen, err)) {
		s.log.Log(s.ctx, level, "the MCP server refuses subscriptions: it is heard only during requests", "error", reason(err))
	}
	return false
}

// acknowledged notes what the server will notify of. It runs on the reader.
func (s *session) acknowledged(params []byte) {
	var ack struct {
		Meta          map[string]json.RawMessage `json:"_meta"`
		Notifications struct{ ToolsListChanged, ResourcesListChanged bool }
	}
	sub := s.subscription.Load()
	if err := json.Unmarshal(params, &ack); err != nil || sub == nil || sub.acknowledged ||
		string(ack.Meta[codec.MetaSubscriptionID]) != fmt.Sprint(sub.id) {
		s.log.Debug("the MCP server acknowledges a subscription that is not ours", "error", err)
		return
	}
	sub.acknowledged = true
	sub.honoured = ack.Notifications.ToolsListChanged || ack.Notifications.ResourcesListChanged
	close(sub.begun)
}

// unsubscribed ends our subscription if it is the request that the server takes back, as a server on standard input and
// output may. It runs on the reader.
func (s *session) unsubscribed(params []byte) {
	var cancelled struct{ RequestID json.RawMessage }
	sub := s.subscription.Load()
	if sub == nil || json.Unmarshal(params, &cancelled) != nil || string(cancelled.RequestID) != fmt.Sprint(sub.id) {
		return
	}
	s.deliver(sub.id, reply{})
}

// withoutSubscription is a notification's params as they were before the server said which subscription they are for.
func withoutSubscription(params json.RawMessage) json.RawMessage {
	if out, err := codec.AppendUnsubscribed(nil, params); err == nil {
		return out
	}
	return params // newNotification will say what is wrong
}
