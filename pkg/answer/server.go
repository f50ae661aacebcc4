package answer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// Defaults for a Server whose fields are zero.
const (
	DefaultMaxMessage = 64 << 20
	DefaultDrain      = 2 * time.Second
)

// Server serves one container of one gateway. Gateway and Handler must be set; no field may change once Run was called.
type Server struct {
	// Gateway is the base URL of the gateway's outside listener, ws or wss; a trailing slash is trimmed (protocol G1).
	Gateway string
	// Container is the container's id (protocol G3). Empty: the paths directly below Gateway, for a proxy of one
	// container, or a gateway that knows the container by its token (protocol G2).
	Container string
	Handler   Handler

	// Header is sent with every upgrade.
	Header http.Header
	// Token, unless nil, returns the bearer token that every upgrade is sent with (protocol G7). It is called for each, so
	// that a token may be replaced while Run goes on, from many goroutines; an error is a failed attempt. While the gateway
	// refuses the token Run tries again every ten seconds or so.
	Token func(ctx context.Context) (string, error)
	// TLS is used for wss URLs; nil: the default configuration.
	TLS *tls.Config
	// MaxMessage is the largest ask taken, in bytes; a larger one ends its connection. 0: DefaultMaxMessage.
	MaxMessage int
	// Drain is how long Run goes on for calls that are running when its context ends. 0: DefaultDrain.
	Drain time.Duration
	// Logger gets what an operator should see; nil: slog.Default.
	Logger *slog.Logger
	Hooks  Hooks

	counters counters
	dial     func(ctx context.Context, url string, header http.Header, cfg *wsock.Config) (socket, error)
	jitter   func() float64
}

// socket is what an exchange needs of a wsock.Conn.
type socket interface {
	Serve(wsock.Handler)
	Append(header, payload []byte)
	Flush()
	Close(code uint16, reason string)
	Cut()
	Pending() int
	Position() uint64
	Arrived(position uint64) bool
	Doubt()
}

// Run keeps a /requests connection open and answers what it brings, until ctx ends; an unreachable gateway, a lost
// connection and a 409 are tried again after a growing, jittered wait. It returns an error at once if the Server's
// fields make no sense, and nil after ctx ended.
//
// At the end Run closes /requests cleanly, sends the answers that become ready within Drain, and ends the remaining
// calls: their contexts end, and their paths end without a Close, so that the gateway asks another server (protocol A5)
// instead of telling the caller that the ask was not served. It returns when every call of the Handler has returned.
func (s *Server) Run(ctx context.Context) error {
	if s.Handler == nil {
		return errors.New("answer: Server.Handler is not set")
	}
	base, err := baseURL("Server", s.Gateway)
	if err != nil {
		return err
	}
	log := s.logger()
	if s.Container != "" {
		if !validID(s.Container) {
			return fmt.Errorf("answer: Server.Container %q is not 1 to 128 characters of A-Z a-z 0-9 . _ -, not starting with a dot", s.Container)
		}
		base = containerURL(base, s.Container)
		log = log.With("container", s.Container)
	}
	r := &run{Server: s, handler: s.Handler, base: base, log: log}
	doubts := &doubts{ctx: ctx, knock: r.knock, spread: r.doubt}
	defer doubts.end()
	r.socket, r.listens, r.notifies = s.sockets(log, doubts, func() time.Duration { return leastQuiet })
	r.start(ctx)
	<-ctx.Done()
	r.end()
	return nil
}

func (s *Server) logger() *slog.Logger {
	if s.Logger != nil {
		return s.Logger
	}
	return slog.Default()
}

// sockets are what a path for one answer, /requests and the notifications path are opened with.
func (s *Server) sockets(log *slog.Logger, d *doubts, quiet func() time.Duration) (answers, listens, notifies *wsock.Config) {
	c := wsock.Config{Client: true, MaxMessage: s.MaxMessage, TLS: s.TLS}
	if c.MaxMessage == 0 {
		c.MaxMessage = DefaultMaxMessage
	}
	c.OnPanic = func(value any, stack []byte) { s.panicked(log, value, stack) }
	watched := func(quiet func() time.Duration) *wsock.Config {
		w := c
		w.Watch = &wsock.Watch{Quiet: quiet, Pong: pong, Silent: d.raise}
		return &w
	}
	return &c, watched(quiet), watched(func() time.Duration { return notificationsQuiet })
}

// baseURL is what the protocol's paths are appended to; of names the struct whose Gateway it is.
func baseURL(of, gateway string) (string, error) {
	u, err := url.Parse(gateway)
	switch {
	case err != nil:
		return "", fmt.Errorf("answer: %s.Gateway: %w", of, err)
	case u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "":
		return "", fmt.Errorf("answer: %s.Gateway %q is not a ws:// or wss:// URL, such as ws://127.0.0.1:14979", of, gateway)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("answer: %s.Gateway %q has a query or a fragment: paths are appended to it", of, gateway)
	}
	return strings.TrimRight(gateway, "/"), nil
}

// containerURL is protocol G1.
func containerURL(base, id string) string { return base + "/containers/" + id }

// validID is protocol G3.
func validID(id string) bool {
	if len(id) == 0 || len(id) > 128 || id[0] == '.' {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

func (s *Server) count(k codec.Kind, o Outcome, heard time.Time) {
	s.counters.outcomes[k][o].Add(1)
	if s.Hooks.Exchanged != nil {
		s.Hooks.Exchanged(k, o, time.Since(heard))
	}
}
