package upstream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/diverge-network/gateway/pkg/answer/internal/backoff"
)

// settled is how long a session that answered nothing must have lasted for the next wait to be short.
const settled = 10 * time.Second

var errClosed = errors.New("the upstream was closed")

// Upstream is an answer.Handler backed by one MCP session of one server. The session begins with the first ask, not
// with New: a container that is served but not used costs no process and no connection. From then on it is kept: when
// it is lost it is begun again in the background, and each new session is followed by both list_changed notifications.
//
// All methods are safe for concurrent use.
type Upstream struct {
	cfg    Config
	log    *slog.Logger
	dialer dialer
	feed   feed
	jitter func() float64

	counters counters

	life  context.Context
	end   context.CancelCauseFunc
	tasks sync.WaitGroup // keep, and the closing of sessions that are over

	// mu is a leaf: nothing is called while it is held.
	mu       sync.Mutex
	started  bool
	standing standing
}

// standing is what an ask finds. It is replaced as a whole; changed is then closed.
type standing struct {
	session  *session // nil: none
	failures uint64   // attempts to connect that have failed so far
	problem  error    // why there is no session
	changed  chan struct{}
}

// New checks the Config and starts nothing. Close ends what the asks will have started.
func New(cfg Config) (*Upstream, error) {
	cfg = cfg.withDefaults()
	u := &Upstream{cfg: cfg, standing: standing{changed: make(chan struct{})}}
	var err error
	if u.dialer, err = cfg.dialer(&u.counters); err != nil {
		return nil, err
	}
	u.log = cfg.Logger.With("upstream", u.dialer.String())
	u.feed.counters = &u.counters
	u.life, u.end = context.WithCancelCause(context.Background())
	return u, nil
}

// Close ends the session and waits for everything the Upstream has started, a process among it. Asks fail from then on.
func (u *Upstream) Close() error {
	u.mu.Lock()
	u.started = true // nothing starts any more
	u.mu.Unlock()
	u.end(errClosed)
	u.tasks.Wait()
	u.dialer.close()
	return nil
}

// start begins the session with the first ask.
func (u *Upstream) start() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.started {
		u.started = true
		u.tasks.Go(u.keep)
	}
}

// keep holds a session open until Close.
func (u *Upstream) keep() {
	retry := backoff.Backoff{Jitter: u.jitter}
	for first := true; u.life.Err() == nil; first = false {
		s, err := u.connect()
		if err != nil {
			if u.life.Err() != nil {
				break
			}
			wait := retry.Next()
			level := slog.LevelDebug
			if u.failed(err) {
				level = slog.LevelWarn
			}
			u.log.Log(u.life, level, "cannot connect to the MCP server; trying again", "wait", wait, "error", err)
			backoff.Wait(u.life, wait)
			continue
		}
		began := time.Now()
		u.counters.sessions.Add(1)
		u.established(s)
		u.log.Info("connected to the MCP server", "server", s.server, "protocol", s.version)
		if !first {
			u.feed.publish(toolsChanged)
			u.feed.publish(resourcesChanged)
		}
		<-s.ctx.Done()
		cause := context.Cause(s.ctx)
		u.lost(cause)
		u.tasks.Go(s.close)
		if u.life.Err() != nil {
			break
		}
		u.counters.lost.Add(1)
		if s.useful.Load() || time.Since(began) >= settled {
			retry.Reset()
		}
		wait := retry.Next()
		u.log.Warn("lost the MCP server; connecting again", "wait", wait, "error", cause)
		backoff.Wait(u.life, wait)
	}
	u.lost(errClosed)
}

// failed notes an attempt that failed, and reports whether it is the first in a row.
func (u *Upstream) failed(problem error) (first bool) {
	u.counters.connectFailures.Add(1)
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.standing
	u.standing = standing{failures: last.failures + 1, problem: problem, changed: make(chan struct{})}
	close(last.changed)
	return last.failures == 0 || !errors.As(last.problem, new(*connectError))
}

func (u *Upstream) established(s *session) {
	u.counters.connected.Store(true)
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.standing
	u.standing = standing{session: s, failures: last.failures, changed: make(chan struct{})}
	close(last.changed)
}

func (u *Upstream) lost(cause error) {
	u.counters.connected.Store(false)
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.standing
	u.standing = standing{failures: last.failures, problem: cause, changed: make(chan struct{})}
	close(last.changed)
}

// acquire waits for a session other than lost, but no longer than the attempt to connect that is under way or comes
// next, and never longer than the connect timeout. The error is a *codec.Error that names the problem, or ctx's.
func (u *Upstream) acquire(ctx context.Context, lost *session) (*session, error) {
	timer := time.NewTimer(u.cfg.ConnectTimeout)
	defer timer.Stop()
	u.mu.Lock()
	now := u.standing
	u.mu.Unlock()
	for failures := now.failures; ; {
		switch {
		case now.session != nil && now.session != lost && now.session.ctx.Err() == nil:
			return now.session, nil
		case u.life.Err() != nil:
			return nil, unreachable(errClosed)
		case now.failures > failures:
			return nil, unreachable(now.problem)
		}
		select {
		case <-now.changed:
		case <-u.life.Done():
			return nil, unreachable(errClosed)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			if now.problem == nil {
				return nil, unreachable(errNoSession)
			}
			return nil, unreachable(now.problem)
		}
		u.mu.Lock()
		now = u.standing
		u.mu.Unlock()
	}
}
