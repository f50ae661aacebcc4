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
	// What bounds the time until a container is served again once its gateway can be reached: an attempt that began
	// before that, and the wait behind it. 5 s together (protocol R5).

	// dialTimeout bounds one attempt to open a path: TCP, TLS and the upgrade.
	dialTimeout = 3 * time.Second
	// lineWait is the longest wait between two attempts to open /requests.
	lineWait = 2 * time.Second

	// settled is how long a /requests connection that brought no ask must have lasted for the next wait to be short.
	settled = 10 * time.Second
	// remind is how often an attempt that keeps failing says so again.
	remind = time.Minute
)

// errStopped is the cause with which Run ends what still runs.
var errStopped = errors.New("the server stopped")

// run serves one container, from start to end. It owns every goroutine: listen and lost are counted in lines, the
// exchanges in calls and streams, and a socket's reader ends with its Ended, which the owner of the socket waits for.
// While /requests is open and nothing is asked, only that socket's reader is there.
type run struct {
	*Server
	handler   Handler
	base      string
	log       *slog.Logger
	socket    *wsock.Config // of a path for one answer
	listens   *wsock.Config // of /requests
	notifies  *wsock.Config // of the notifications path
	admission admission     // nil: dial at any time
	hush      *hush         // nil: alone, and heard
	silent    func()        // called when the gateway was silent on a socket; nil: nobody cares

	listening context.Context // ends when /requests shall be closed
	serving   context.Context // lives until the drain is over; every path and handler call hangs on it
	stop      context.CancelCauseFunc

	handshakes chan struct{} // one for each call whose path is being opened

	lines   sync.WaitGroup // one, until listening has ended and /requests with it
	calls   sync.WaitGroup // exchanges of kinds 0 to 3
	streams sync.WaitGroup // exchanges of kind 4

	// Of listen and lost, which take turns.

	retry   backoff.Backoff
	failing bool      // the last attempt failed
	warned  time.Time // when that was last said

	mu       sync.Mutex // a leaf, but for the socket's own locks
	requests socket     // the /requests connection; nil: none
	telling  []*path    // the open paths of kind 4, one but for moments
}

// admission has the sockets that every container of a fleet has opened in turn. What waits for it returns false when
// ctx has ended, and calls handshaken otherwise, once it is over.
type admission interface {
	admitLine(ctx context.Context) bool
	admitPath(ctx context.Context) bool
	handshaken()
}

// start begins to listen. The run's fields down to hush are set.
func (r *run) start(listening context.Context) {
	r.listening = listening
	r.serving, r.stop = context.WithCancelCause(context.WithoutCancel(listening))
	r.retry.Jitter, r.retry.Cap = r.jitter, lineWait
	r.handshakes = make(chan struct{}, maxHandshakes)
	r.lines.Add(1)
	go r.listen()
}

// end finishes what start began, once listening has ended.
func (r *run) end() {
	r.silence()
	r.drain()
}

// listen opens the /requests connection and leaves it to itself: when it ends, lost goes on from there.
func (r *run) listen() {
	for r.listening.Err() == nil {
		sock, err := r.openLine()
		if err == nil {
			r.attach(sock)
			return
		}
		if r.listening.Err() != nil {
			break
		}
		r.counters.dialFailures.Add(1)
		wait, text := r.afterwards(err, r.retry.Next(), "cannot listen for asks; trying again")
		say := !r.failing || time.Since(r.warned) >= remind
		if say {
			r.warned = time.Now()
		}
		r.log.Log(r.listening, r.alarm(say), text,
			"url", r.base+"/requests", "wait", wait, "error", err)
		r.failing = true
		r.disconnected(err)
		backoff.Wait(r.listening, wait)
	}
	r.lines.Done()
}

func (r *run) attach(sock socket) {
	r.failing = false
	r.counters.connections.Add(1)
	r.counters.connected.Add(1)
	if r.Hooks.Connected != nil {
		r.Hooks.Connected()
	}
	r.log.Log(r.listening, r.calm(), "listening for asks", "url", r.base+"/requests")
	r.mu.Lock()
	r.requests = sock
	sock.Serve(newLine(r))
	r.mu.Unlock()
	if r.listening.Err() != nil { // silence may have come before there was anything to close
		sock.Close(1000, "")
	}
}

// lost takes over when a /requests connection has ended.
func (r *run) lost(l *line) {
	r.mu.Lock()
	r.requests = nil
	r.mu.Unlock()
	r.counters.connected.Add(-1)
	if r.listening.Err() != nil {
		r.log.Log(r.listening, r.calm(), "stopped listening for asks")
		r.disconnected(nil)
		r.lines.Done()
		return
	}
	if l.heard.Load() || time.Since(l.began) >= settled {
		r.retry.Reset()
	}
	wait := r.retry.Next()
	r.log.Log(r.listening, r.alarm(true), "the connection for asks ended; opening it again",
		"clean", l.ending.Clean, "code", l.ending.Code, "wait", wait, "error", l.ending.Cause)
	r.disconnected(&DisconnectedError{Clean: l.ending.Clean, Code: l.ending.Code, Cause: l.ending.Cause})
	backoff.Wait(r.listening, wait)
	r.listen()
}

// silence closes /requests cleanly, once listening has ended. No exchange begins after it has returned.
func (r *run) silence() {
	r.mu.Lock()
	sock := r.requests
	r.mu.Unlock()
	if sock != nil {
		sock.Close(1000, "")
	}
	r.lines.Wait()
}

// drain gives running calls a last chance, then ends everything. The notifications path goes last: what a running
// call reports about its progress still has a way out.
func (r *run) drain() {
	drain := r.Drain
	if drain == 0 {
		drain = DefaultDrain
	}
	if open := r.counters.open.Load(); open > 0 {
		r.log.Log(r.listening, r.calm(), "waiting for calls that are running", "at_most", drain)
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

// doubt has the gateway asked now whether it is still there, on every socket that lasts.
func (r *run) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requests != nil {
		r.requests.Doubt()
	}
	for _, p := range r.telling {
		p.sock.Doubt()
	}
}

// suspect tells who cares that a socket ended because the gateway was silent on it.
func (r *run) suspect(e wsock.Ending) {
	if r.silent != nil && errors.Is(e.Cause, wsock.ErrSilent) {
		r.silent()
	}
}

func (r *run) openLine() (socket, error) {
	if r.admission != nil {
		if !r.admission.admitLine(r.listening) {
			return nil, r.listening.Err()
		}
		defer r.admission.handshaken()
	}
	return r.open(r.listening, r.base+"/requests", r.listens)
}

func (r *run) open(ctx context.Context, url string, cfg *wsock.Config) (socket, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	header, err := r.bearing(ctx)
	if err != nil {
		return nil, err
	}
	if r.dial != nil {
		return r.dial(ctx, url, header, cfg)
	}
	return dialGateway(ctx, url, header, cfg)
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
