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

// keeper keeps one MCP session of one server. It begins with the first ask, not before: what is served but not used costs
// no process and no connection. From then on, when it is lost, it is begun again in the background, and each new session is
// followed by both list_changed notifications.
type keeper struct {
	cfg    Config
	log    *slog.Logger
	dialer dialer
	feed   feed
	tokens *tokens // nil: there is one container, whose tokens are its own affair
	jitter func() float64

	unasked bool // the server does not survive the question for its era; keep's

	counters   counters
	complaints complaints
	bounds     *bounds // of log

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

func newKeeper(cfg Config) (*keeper, error) {
	cfg = cfg.withDefaults()
	k := &keeper{cfg: cfg, standing: standing{changed: make(chan struct{})}}
	var err error
	if k.dialer, err = cfg.dialer(&k.counters); err != nil {
		return nil, err
	}
	handler, bounds := newCalm(cfg.Logger.With("upstream", k.dialer.String()).Handler())
	k.log, k.bounds = slog.New(handler), bounds
	k.feed.init(&k.counters, k.log)
	k.life, k.end = context.WithCancelCause(context.Background())
	return k, nil
}

// Close ends the session and waits for everything that was started for it, a process among it. Asks fail from then on.
func (k *keeper) Close() error {
	k.mu.Lock()
	k.started = true // nothing starts any more
	k.mu.Unlock()
	k.end(errClosed)
	k.tasks.Wait()
	k.dialer.close()
	k.bounds.close()
	return nil
}

// start begins the session with the first ask.
func (k *keeper) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.started {
		k.started = true
		k.tasks.Go(k.keep)
	}
}

// keep holds a session open until Close.
func (k *keeper) keep() {
	retry := backoff.Backoff{Jitter: k.jitter}
	trouble := "" // why the last attempt failed
	for first := true; k.life.Err() == nil; first = false {
		s, err := k.connect()
		if err != nil {
			if k.life.Err() != nil {
				break
			}
			wait := retry.Next()
			level := slog.LevelDebug
			if now := shape(err); now != trouble {
				level, trouble = slog.LevelWarn, now
				k.complaints.due(toldUnreachable, err, 0) // the callers that fail with it need not repeat it
			}
			k.log.Log(k.life, level, "cannot connect to the MCP server; trying again", "wait", wait, "error", err)
			k.failed(err)
			backoff.Wait(k.life, wait)
			continue
		}
		trouble = ""
		began := time.Now()
		k.counters.sessions.Add(1)
		k.established(s)
		k.log.Info("connected to the MCP server", "server", s.server, "protocol", s.version)
		if !first {
			k.announce()
		}
		<-s.ctx.Done()
		cause := context.Cause(s.ctx)
		k.lost(cause)
		k.tasks.Go(s.close)
		if k.life.Err() != nil {
			break
		}
		k.counters.lost.Add(1)
		if s.useful.Load() || time.Since(began) >= settled {
			retry.Reset()
		}
		wait := retry.Next()
		k.log.Warn("lost the MCP server; connecting again", "wait", wait, "error", cause)
		backoff.Wait(k.life, wait)
	}
	k.lost(errClosed)
}

// announce follows a time in which the server was not heard.
func (k *keeper) announce() {
	k.feed.publish(toolsChanged)
	k.feed.publish(resourcesChanged)
}

// failed notes an attempt that failed.
func (k *keeper) failed(problem error) {
	k.counters.connectFailures.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.standing
	k.standing = standing{failures: last.failures + 1, problem: problem, changed: make(chan struct{})}
	close(last.changed)
}

func (k *keeper) established(s *session) {
	k.counters.connected.Store(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.standing
	k.standing = standing{session: s, failures: last.failures, changed: make(chan struct{})}
	close(last.changed)
}

func (k *keeper) lost(cause error) {
	k.counters.connected.Store(false)
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.standing
	k.standing = standing{failures: last.failures, problem: cause, changed: make(chan struct{})}
	close(last.changed)
}

// acquire waits for a session that lives, but no longer than the attempt to connect that is under way or comes
// next, and never longer than the connect timeout. The error is a *failure, or ctx's cause.
func (k *keeper) acquire(ctx context.Context) (*session, error) {
	timer := time.NewTimer(k.cfg.ConnectTimeout)
	defer timer.Stop()
	k.mu.Lock()
	now := k.standing
	k.mu.Unlock()
	for failures := now.failures; ; {
		switch {
		case now.session != nil && now.session.ctx.Err() == nil:
			return now.session, nil
		case k.life.Err() != nil:
			return nil, unreachable(errClosed)
		case now.failures > failures:
			return nil, unreachable(now.problem)
		}
		select {
		case <-now.changed:
		case <-k.life.Done():
			return nil, unreachable(errClosed)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			if now.problem == nil {
				return nil, unreachable(errNoSession)
			}
			return nil, unreachable(now.problem)
		}
		k.mu.Lock()
		now = k.standing
		k.mu.Unlock()
	}
}
