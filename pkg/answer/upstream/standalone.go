package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/diverge-network/gateway/pkg/answer/internal/backoff"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// standaloneTimeout bounds the wait for the standalone stream before a new session takes asks: what the first of them
// sets off should be heard.
const standaloneTimeout = 2 * time.Second

// established implements link. The SDK's connection would open the standalone stream (a GET, on which the server says
// what belongs to no request) only under the SDK's client. Here a request of our own is written whose POST the
// roundTripper turns into that GET: its answer is then a stream like any other to the connection, which reads it,
// resumes it, and reports its end as the end of that request.
func (l *httpLink) established(s *session) {
	s.await(func(opened func()) { l.listen(s, opened) })
}

// listen keeps the standalone stream open while the session lives, if the server has one. It calls opened when that has
// become clear.
func (l *httpLink) listen(s *session, opened func()) {
	defer s.counters.standalone.Store(false)
	retry := backoff.Backoff{Jitter: s.jitter}
	for s.ctx.Err() == nil {
		began := time.Now()
		id, ended := s.register()
		x := &exchange{standalone: true}
		err := l.conn.Write(context.WithValue(s.ctx, exchangeKey{}, x), &jsonrpc.Request{ID: makeID(id), Method: "GET"})
		if err == nil {
			s.counters.standalone.Store(true)
			opened()
			select {
			case <-ended:
			case <-s.ctx.Done():
			}
			s.counters.standalone.Store(false)
			if time.Since(began) >= settled {
				retry.Reset()
			}
		} else {
			s.forget(id)
			opened()
			if !l.standaloneFailed(s, x.refusal, err) {
				return
			}
		}
		backoff.Wait(s.ctx, retry.Next())
	}
}

// standaloneFailed judges an attempt that failed and reports whether another makes sense.
func (l *httpLink) standaloneFailed(s *session, refusal *refusedError, err error) (again bool) {
	switch {
	case s.ctx.Err() != nil:
		return false
	case refusal == nil:
		return s.probe(&brokenError{cause: err, unexecuted: unsent(err)})
	case refusal.status == http.StatusMethodNotAllowed:
		s.log.Debug("the MCP server has no standalone stream: it notifies only during requests")
		return false
	case refusal.status >= 500, refusal.status == http.StatusTooManyRequests, refusal.status == http.StatusConflict:
		s.log.Debug("the MCP server's standalone stream is not available yet", "error", refusal)
		return true
	case refusal.doubtful() && !s.probe(errors.Join(errors.New("the standalone stream was refused"), refusal)):
		return false
	}
	s.log.Warn("the MCP server refuses its standalone stream: it is heard only during requests", "error", refusal)
	return false
}
