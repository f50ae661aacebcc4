package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Probes and scrapes are small and quick; nobody else has business here.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
	maxHeader    = 8 << 10
)

// listener, reasonPath, reasonMethod and panicOps are this room's own label values.
const (
	listener     = "ops"
	reasonPath   = "unknown-path"
	reasonMethod = "method"
	panicOps     = "ops"
)

type server struct {
	ops     *Ops
	http    http.Server
	metrics http.Handler
}

func (s *server) init(o *Ops) {
	s.ops = o
	s.metrics = promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{
		ErrorLog: promLog{o.log},
		// A scrape that cannot have all of it should fail and be noticed.
		ErrorHandling: promhttp.HTTPErrorOnError,
	})
	s.http = http.Server{
		Handler:        s,
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeader,
		// The server's own lines tell of peers that misbehave.
		ErrorLog: slog.NewLogLogger(o.log.With("listener", listener).Handler(), slog.LevelDebug),
	}
}

// Serve answers on ln, which it owns, until Shutdown; it returns nil then. An accept that fails for want of file descriptors is
// tried again.
func (o *Ops) Serve(ln net.Listener) error {
	if err := o.server.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown closes the listener and waits until the last response is out. When ctx ends first, connections are cut and its
// error is returned.
func (o *Ops) Shutdown(ctx context.Context) error {
	if err := o.server.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("ops listener: %w", errors.Join(err, o.server.http.Close()))
	}
	return nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			s.ops.Panicked(panicOps)
			s.ops.log.Error("panic in the ops listener", "panic", p, "stack", string(debug.Stack()))
			say(w, http.StatusInternalServerError, "the gateway failed on this request: its log says why")
		}
	}()
	var answer http.HandlerFunc
	switch r.URL.Path {
	case "/metrics":
		answer = s.metrics.ServeHTTP
	case "/healthz":
		answer = func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") }
	case "/readyz":
		answer = s.readyz
	default:
		s.refuse(w, http.StatusNotFound, reasonPath, "no such path: there is /metrics, /healthz and /readyz")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.refuse(w, http.StatusMethodNotAllowed, reasonMethod, "this path is only read: use GET")
		return
	}
	answer(w, r)
}

func (s *server) readyz(w http.ResponseWriter, _ *http.Request) {
	if s.ops.ready.ready.Load() {
		say(w, http.StatusOK, "ready")
		return
	}
	say(w, http.StatusServiceUnavailable, "not ready: starting or stopping")
}

func (s *server) refuse(w http.ResponseWriter, status int, reason, text string) {
	s.ops.Refused(listener, reason)
	s.ops.log.Debug("refused", "listener", listener, "reason", reason, "status", status)
	say(w, status, text)
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a peer that has gone needs no answer
}

// promLog brings a failed scrape to the log.
type promLog struct{ log *slog.Logger }

func (l promLog) Println(v ...any) {
	l.log.Error("metrics could not be gathered", "error", fmt.Sprint(v...))
}
