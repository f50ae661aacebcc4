package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// probeTimeout bounds the request that decides whether a doubtful session lives. One that is only slow lives.
const probeTimeout = 5 * time.Second

// usable sorts out replies that the transport made up because the answer's stream ended without one, and those that say that
// the server is of another era by now.
func (s *session) usable(method string, got reply) (reply, error) {
	if got.err == nil || beginning(method) {
		return got, nil
	}
	var theirs *jsonrpc.Error
	switch {
	case !errors.As(got.err, &theirs):
		s.probe(got.err)
		return reply{}, &brokenError{cause: got.err}
	case s.stateless.Load() && theirs.Code == codeUnsupportedVersion && !s.probe(theirs):
		return reply{}, &brokenError{cause: theirs, unexecuted: true}
	}
	return got, nil
}

// examine looks into a request that could not be sent: is it this one's fault, or is the session gone? A refusal for
// want of a session says that the server has not run the request.
func (s *session) examine(method string, err error) error {
	var broken *brokenError
	var refused *refusedError
	switch {
	case beginning(method):
	case errors.As(err, &broken):
		s.probe(err)
	case errors.As(err, &refused):
		if refused.doubtful() && !s.probe(err) {
			return &brokenError{cause: err, unexecuted: true}
		}
	case s.ctx.Err() != nil: // the request was given up with the session
		return &brokenError{cause: context.Cause(s.ctx)}
	}
	return err
}

// probe asks the server whether the session lives, after cause made that doubtful, and ends the session if it does not.
// Only an answer, or no connection, can tell: a server that is slow to answer lives. Who waits while another probe runs
// shares the next one: many doubts at once cost two.
func (s *session) probe(cause error) (lives bool) {
	begun := s.probes.Load()
	s.probing.Lock()
	defer s.probing.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return false
	case s.probes.Load() != begun:
		return true
	}
	s.probes.Add(1)
	ctx, cancel := context.WithTimeout(s.ctx, probeTimeout)
	defer cancel()
	if s.denied(ctx) {
		s.fail(cause)
	}
	return s.ctx.Err() == nil
}

// denied reports whether the server says that there is no such session, or is not there. The request is one that costs
// nothing: a ping, which a server need not know, or where there is none, the question for the era.
func (s *session) denied(ctx context.Context) bool {
	id, waiting := s.register()
	defer s.forget(id)
	request := &jsonrpc.Request{ID: makeID(id), Method: methodPing}
	isStateless := s.stateless.Load()
	if isStateless {
		params, err := s.discovery(s.version)
		if err != nil {
			return true
		}
		request.Method, request.Params = methodDiscover, params
	}
	err := s.link.write(ctx, request)
	var got reply
	if err == nil {
		select {
		case got = <-waiting:
		case <-ctx.Done():
			return false
		}
	}
	var broken *brokenError
	var refused *refusedError
	switch {
	case ctx.Err() != nil:
		return false
	case errors.As(err, &broken):
		return true
	case isStateless:
		f, _ := readAnswer(got, err)
		return f.version == "" && !f.silent
	}
	return errors.As(err, &refused) && refused.doubtful()
}
