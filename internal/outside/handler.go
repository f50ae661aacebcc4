package outside

import (
	"crypto/tls"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/httphead"
	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/internal/origin"
	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/mux"
)

const (
	// Listener is the name of this listener in metrics and logs.
	Listener = "outside"

	// RequestsLabel and ContainersLabel name the /requests and the /containers
	// path in metrics; an answer path has its kind's name.
	RequestsLabel   = "requests"
	ContainersLabel = "containers"

	// maxHeader bounds the request line and headers of one request, in bytes.
	maxHeader = httphead.Max

	// handshakeTimeout bounds how long a request may take to arrive, and its
	// response to leave. Nothing times out once the connection is a WebSocket
	// (protocol W5).
	handshakeTimeout = 10 * time.Second
)

// Observer hears what is to be counted. Its methods must not block, and are
// called from many goroutines.
type Observer interface {
	// Refused counts a request that got no WebSocket. reason is one of Reasons.
	Refused(listener, reason string)
	// SocketOpened and SocketClosed count WebSockets, and lists of containers.
	// path is RequestsLabel, ContainersLabel or the name of a kind.
	SocketOpened(path string)
	SocketClosed(path string)
	// Panicked counts a panic that was recovered. where is one of Panics.
	Panicked(where string)
}

// Config is what a Handler needs; it is read once, by New.
type Config struct {
	// Mux holds the containers. Required.
	Mux *mux.Mux
	// MaxMessage is the most bytes that one message may have (protocol W9). 0
	// or less: any number.
	MaxMessage int
	// Ping is how often a quiet socket is pinged (protocol W4), and a quiet list
	// of containers kept alive (G6). 0 or less: never.
	Ping time.Duration
	// AllowOrigin lists the origins, such as https://example.com, whose pages may
	// play the server. Loopback says that the listener is on loopback: pages of
	// this machine may then, and others not even by this machine's name.
	AllowOrigin []string
	Loopback    bool
	// Keys verify the tokens that servers have to bear (protocol G7). nil: nobody is
	// asked for one.
	Keys *auth.Keys
	// TLS returns what to speak TLS with on a connection that begins now. nil: it is
	// plain.
	TLS func() *tls.Config
	// Observer may be nil.
	Observer Observer
	// Logger may be nil: slog.Default.
	Logger *slog.Logger
}

// Handler serves the server's paths. Its methods may be called from several
// goroutines.
type Handler struct {
	mux      *mux.Mux
	observer Observer
	log      *slog.Logger
	timeout  time.Duration // of a request
	sockets  wsock.Config
	origins  origin.Policy
	keys     *auth.Keys         // nil: nobody is asked for a token
	now      func() time.Time   // for tokens
	tls      func() *tls.Config // nil: it is not spoken
	loopback bool
	unread   int // most changes that may wait on one list of containers
	roster   roster
	crew     crew

	mu        sync.Mutex // guards listeners, and closing of stopping
	listeners map[net.Listener]struct{}
	stopping  chan struct{}
	running   sync.WaitGroup // accept loops, and the crew
}

// New returns a Handler that serves nothing yet. Shutdown ends what it started.
func New(config Config) *Handler {
	h := &Handler{
		mux:       config.Mux,
		observer:  config.Observer,
		log:       config.Logger,
		origins:   origin.New(config.AllowOrigin, config.Loopback),
		loopback:  config.Loopback,
		keys:      config.Keys,
		now:       time.Now,
		tls:       config.TLS,
		timeout:   handshakeTimeout,
		crew:      crew{next: make(chan *arrival)},
		unread:    maxUnread,
		listeners: make(map[net.Listener]struct{}),
		stopping:  make(chan struct{}),
	}
	if h.observer == nil {
		h.observer = unobserved{}
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	h.roster.init()
	h.sockets = wsock.Config{MaxMessage: config.MaxMessage, Stacks: new(wsock.Stacks), OnPanic: h.socketPanicked}
	if config.Ping > 0 {
		h.sockets.Ring = keepalive.NewRing(config.Ping / 2)
		h.sockets.Ring.Panicked = h.socketPanicked
		h.sockets.Ring.Start()
	}
	if h.keys != nil {
		h.running.Go(h.rejudgeSockets)
	}
	return h
}

// Where a panic is caught.
const (
	panicHTTP    = "http"      // in reading a request, or refusing it
	panicRequest = "request"   // in judging a request
	panicUpgrade = "upgrade"   // in opening what it asks for
	panicSocket  = "websocket" // in what a socket brought, or in its ring
)

// Panics returns every place where a panic is caught, so that each can be
// counted from zero.
func Panics() []string { return []string{panicHTTP, panicRequest, panicUpgrade, panicSocket} }

// recovered is deferred where a panic must not end the process. It counts and
// logs the panic, and then has cleanUp do what the panic prevented.
func (h *Handler) recovered(where string, cleanUp func()) {
	if v := recover(); v != nil {
		h.panicked(where, v, debug.Stack())
		cleanUp()
	}
}

func (h *Handler) socketPanicked(v any, stack []byte) { h.panicked(panicSocket, v, stack) }

func (h *Handler) panicked(where string, v any, stack []byte) {
	h.observer.Panicked(where)
	h.log.Error("a panic ended one connection", "listener", Listener, "where", where, "panic", v, "stack", string(stack))
}

// unobserved is the Observer where nobody counts.
type unobserved struct{}

func (unobserved) Refused(string, string) {}
func (unobserved) SocketOpened(string)    {}
func (unobserved) SocketClosed(string)    {}
func (unobserved) Panicked(string)        {}
