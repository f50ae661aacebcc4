package answer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// JSON-RPC error codes.
const (
	codeInvalidParams = -32602
	codeInternal      = -32603
)

// begin starts an ask's exchange in a goroutine of its own, which owns b. announced ends with the connection that the
// ask came on.
func (r *run) begin(announced context.Context, ask codec.Ask, b *codec.Buffer) {
	heard := time.Now()
	if ask.Kind.Many() {
		b.Release() // what it brings means nothing (protocol D3), and the path lasts
		ask.Payload = nil
		r.streams.Go(func() { r.beginStream(announced, ask, heard) })
		return
	}
	r.calls.Go(func() {
		defer b.Release()
		p, outcome := r.openPath(announced, ask)
		if p != nil {
			outcome = p.answer(ask)
		}
		r.exchanged(ask, outcome, heard)
	})
}

// beginStream opens a path of kind 4 and leaves it to a goroutine with a fresh stack: dialling makes one grow, and this
// one stays for as long as the container does.
func (r *run) beginStream(announced context.Context, ask codec.Ask, heard time.Time) {
	p, outcome := r.openPath(announced, ask)
	if p == nil {
		r.exchanged(ask, outcome, heard)
		return
	}
	r.streams.Go(func() { r.exchanged(ask, p.notify(), heard) })
}

func (r *run) exchanged(ask codec.Ask, outcome Outcome, heard time.Time) {
	r.count(ask.Kind, outcome, heard)
	r.log.Debug("exchange ended", "kind", ask.Kind, "channel", ask.Channel, "outcome", outcome)
}

// answer serves an open path of kinds 0 to 3: one message, then a clean close (protocol A3, A4).
func (p *path) answer(ask codec.Ask) Outcome {
	result, err := p.call(ask)
	p.follow()
	switch {
	case p.over():
		return Abandoned
	case err != nil && p.alive.Err() != nil: // the run is over: another server may do better
		p.cut()
		return Abandoned
	case errors.Is(err, ErrNotServed):
		if !p.close() {
			return Unconfirmed
		}
		return NotServed
	case err != nil:
		p.send(codec.TagError, p.errorObject(ask.Kind, err))
		if !p.close() {
			return Unconfirmed
		}
		return Failed
	}
	p.send(codec.TagResult, result)
	if !p.close() {
		return Unconfirmed
	}
	return Answered
}

// call runs the Handler. A panic of it is an error of this one ask.
func (p *path) call(ask codec.Ask) (result []byte, err error) {
	if err := checkPayload(ask); err != nil {
		return nil, err
	}
	defer p.recover(&err)
	result, err = p.run.handler.Answer(p.alive, ask.Kind, ask.Payload)
	if err == nil && len(result) == 0 {
		err = &codec.Error{Code: codeInternal, Message: "the server has no result for " + ask.Kind.Method()}
	}
	return result, err
}

func (p *path) recover(err *error) {
	if v := recover(); v != nil {
		p.run.panicked(v, debug.Stack())
		*err = errFailed
	}
}

// checkPayload is protocol R4 from the receiving end.
func checkPayload(ask codec.Ask) error {
	if err := codec.CheckJSON(ask.Payload); err != nil {
		return &codec.Error{Code: codeInvalidParams, Message: fmt.Sprintf("the params of %s are not JSON: %v", ask.Kind.Method(), err)}
	}
	if _, err := ask.Kind.Payload(ask.Payload); err != nil {
		return &codec.Error{Code: codeInvalidParams, Message: err.Error()}
	}
	return nil
}

// errorObject is what the caller is told: a *codec.Error as it is, of any other error nothing but that there was one. A
// caller is a sandboxed agent, and what failed may name what it must not reach.
func (p *path) errorObject(k codec.Kind, err error) []byte {
	var known *codec.Error
	if !errors.As(err, &known) {
		p.run.log.Warn("the handler failed on an ask", "kind", k, "error", err)
		known = errFailed
	}
	return known.Append(nil)
}

var errFailed = &codec.Error{Code: codeInternal, Message: "the server failed while it served this ask"}

// panicked notes a panic that was recovered: of the Handler, or of what this package does in a socket's goroutine.
func (r *run) panicked(value any, stack []byte) { r.Server.panicked(r.log, value, stack) }

func (s *Server) panicked(log *slog.Logger, value any, stack []byte) {
	s.counters.panics.Add(1)
	log.Error("recovered from a panic", "panic", value, "stack", string(stack))
}
