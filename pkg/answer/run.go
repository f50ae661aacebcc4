package answer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/answer/internal/backoff"
)

const (
	// dialTimeout bounds one attempt to open a path: TCP, TLS and the upgrade.
	dialTimeout = 10 * time.Second
	// settled is how long a /requests connection that brought no ask must have lasted for the next wait to be short.
	settled = 10 * time.Second
)

// errStopped is the cause with which Run ends what still runs.
var errStopped = errors.New("the server stopped")

// run is one call of Server.Run. It owns every goroutine: listen runs in Run's own, the exchanges are counted in calls
// and streams, and a socket's reader ends with its Ended, which the owner of the socket waits for.
type run struct {
	*Server
	base   string
	log    *slog.Logger
	socket *wsock.Config

	serving context.Context // lives until the drain is over; every path and handler call hangs on it
	stop    context.CancelCauseFunc
	calls   sync.WaitGroup // exchanges of kinds 0 to 3
	streams sync.WaitGroup // exchanges of kind 4
}

// listen holds the /requests connection until ctx ends. No exchange begins after it has returned.
func (r *run) listen(ctx context.Context) {
	retry := backoff.Backoff{Jitter: r.jitter}
	failing := false
	for ctx.Err() == nil {
		sock, err := r.open(ctx, r.base+"/requests")
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			r.counters.dialFailures.Add(1)
			wait := retry.Next()
			level := slog.LevelDebug
			if !failing {
				level = slog.LevelWarn
			}
			failing = true
			r.log.Log(ctx, level, "cannot listen for asks; trying again", "url", r.base+"/requests", "wait", wait, "error", err)
			r.disconnected(err)
			backoff.Wait(ctx, wait)
			continue
		}
		failing = false
		began := time.Now()
		l := newLine(r)
		r.counters.connections.Add(1)
		r.counters.connected.Store(true)
		if r.Hooks.Connected != nil {
			r.Hooks.Connected()
		}
		r.log.Info("listening for asks", "url", r.base+"/requests")
		sock.Serve(l)
		select {
		case <-l.ended:
		case <-ctx.Done():
			finish(sock, l.ended)
		}
		r.counters.connected.Store(false)
		if ctx.Err() != nil {
			r.log.Info("stopped listening for asks")
			r.disconnected(nil)
			return
		}
		if l.heard.Load() || time.Since(began) >= settled {
			retry.Reset()
		}
		wait := retry.Next()
		r.log.Warn("the connection for asks ended; opening it again", "clean", l.ending.Clean, "code", l.ending.Code, "wait", wait, "error", l.ending.Cause)
		r.disconnected(&DisconnectedError{Clean: l.ending.Clean, Code: l.ending.Code, Cause: l.ending.Cause})
		backoff.Wait(ctx, wait)
	}
}

// drain gives running calls a last chance, then ends everything. The notifications path goes last: what a running
// call reports about its progress still has a way out.
func (r *run) drain() {
	drain := r.Drain
	if drain == 0 {
		drain = DefaultDrain
	}
	timer := time.AfterFunc(drain, func() { r.stop(errStopped) })
	defer timer.Stop()
	r.calls.Wait()
	r.stop(errStopped)
	r.streams.Wait()
}

func (r *run) disconnected(err error) {
	if r.Hooks.Disconnected != nil {
		r.Hooks.Disconnected(err)
	}
}

func (r *run) open(ctx context.Context, url string) (socket, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if r.dial != nil {
		return r.dial(ctx, url, r.Header, r.socket)
	}
	return dialGateway(ctx, url, r.Header, r.socket)
}

func dialGateway(ctx context.Context, url string, header http.Header, cfg *wsock.Config) (socket, error) {
	conn, err := wsock.Dial(ctx, url, header, cfg)
	if err != nil {
		return nil, err // not conn: a nil *wsock.Conn would be a socket that is not nil
	}
	return conn, nil
}

// finish closes a socket cleanly and waits for its end, which the socket bounds.
func finish(sock socket, ended <-chan struct{}) {
	sock.Close(1000, "")
	<-ended
}

// cut ends a socket without a Close.
func cut(sock socket, ended <-chan struct{}) {
	sock.Cut()
	<-ended
}
