package inside

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/origin"
	"github.com/diverge-network/gateway/pkg/mux"
)

// Config is what a Handler needs.
type Config struct {
	// Mux holds the containers. Its Config.NewSink must be Faces.New. Required.
	Mux *mux.Mux
	// Faces are the containers' inside faces. Required.
	Faces *Faces
	// MaxBody is the most bytes that a request's body may have. Required.
	MaxBody int
	// KeepAlive is how often a comment goes out on an event stream, so that
	// nothing between takes it for dead. Required.
	KeepAlive time.Duration
	// SSEAfter is how long a POST waits for a response in JSON. Then, or when
	// there is progress, its response becomes an event stream. 0 is at once; Never
	// keeps it JSON always, and nobody hears progress.
	SSEAfter time.Duration
	// FarSide is the revision of what is behind the provider's server: one of
	// FarSides. A legacy one, or "", is not told of the stateless revision, and
	// that one is told of it by every request.
	FarSide string
	// Budget bounds the bytes that are held for requests and for their answers, and
	// Memory says when no new ones are taken. Both may be nil.
	Budget *limit.Budget
	Memory *limit.Memory
	// AllowOrigin lists the origins, such as https://example.com, whose pages
	// may use the listener. LoopbackOrigins allows those of this machine, which
	// is safe only while the listener is on loopback.
	AllowOrigin     []string
	LoopbackOrigins bool
	// Keys verify the tokens that clients have to bear (protocol G7). nil: nobody
	// is asked for one.
	Keys *auth.Keys
	// TLS returns what to speak TLS with on a connection that begins now. nil:
	// plain HTTP is spoken.
	TLS func() *tls.Config
	// Server is what clients are told they are connected to.
	Server Implementation
	// Observer and Logger may be nil.
	Observer Observer
	Logger   *slog.Logger
}

// Handler serves MCP on any number of listeners. Its methods may be called from
// many goroutines.
type Handler struct {
	cfg         Config
	mux         *mux.Mux
	faces       *Faces
	ring        *keepalive.Ring
	origins     origin.Policy
	keys        *auth.Keys       // nil: nobody is asked for a token
	now         func() time.Time // for tokens
	pace        pace
	stall       time.Duration // for how long a client may take nothing
	initialized [len(revisions)][]byte
	ours        modernResults
	observer    Observer
	log         *slog.Logger

	roster  roster
	running sync.WaitGroup // accept loops, connections that speak HTTP, event streams

	mu        sync.Mutex // guards listeners and the closing of stopping; a leaf
	listeners map[net.Listener]struct{}
	stopping  chan struct{}

	draining atomic.Bool
}

// New checks the config and makes the Handler. Shutdown ends what it starts.
func New(config Config) (*Handler, error) {
	switch {
	case config.Mux == nil:
		return nil, errors.New("inside: Config.Mux is missing")
	case config.Faces == nil:
		return nil, errors.New("inside: Config.Faces is missing")
	case config.MaxBody <= 0:
		return nil, errors.New("inside: the body limit must be positive")
	case config.KeepAlive <= 0:
		return nil, errors.New("inside: the keep-alive period must be positive")
	}
	if err := checkFarSide(config.FarSide); err != nil {
		return nil, err
	}
	initialized, err := initializeResults(config.Server)
	if err != nil {
		return nil, err
	}
	ours, err := newModernResults(config.Server)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		cfg:         config,
		mux:         config.Mux,
		faces:       config.Faces,
		ring:        keepalive.NewRing(config.KeepAlive),
		origins:     origin.New(config.AllowOrigin, config.LoopbackOrigins),
		keys:        config.Keys,
		now:         time.Now,
		pace:        usualPace,
		stall:       config.Faces.stall(),
		initialized: initialized,
		ours:        ours,
		observer:    config.Observer,
		log:         config.Logger,
		listeners:   make(map[net.Listener]struct{}),
		stopping:    make(chan struct{}),
	}
	if h.observer == nil {
		h.observer = silent{}
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.log = h.log.With("listener", Listener)
	h.roster.init()
	h.ring.Panicked = func(value any, stack []byte) { h.panicked(PanicStream, value, stack) }
	h.ring.Start()
	if h.keys != nil {
		h.running.Go(h.rejudgeStreams)
	}
	return h, nil
}

// serve answers one request.
func (h *Handler) serve(x *exchange) {
	defer h.recovered(x)
	container, who, refused, d := h.judge(&x.request.Header)
	if refused != "" {
		h.refuse(x, refused, d)
		return
	}
	x.identity = who
	if h.short(x) {
		return
	}
	switch string(x.request.Header.Method()) {
	case fasthttp.MethodPost:
		h.post(x, container)
	case fasthttp.MethodGet:
		if h.draining.Load() {
			h.refuse(x, ReasonShutdown, detail{})
			return
		}
		h.listen(x, container)
	case fasthttp.MethodOptions:
		h.preflight(x)
	default: // DELETE: judge lets nothing else pass
		h.end(x, container)
	}
}

// end serves a DELETE: the client is done with its session.
func (h *Handler) end(x *exchange, container string) {
	c, s, ok := h.admit(x, container)
	if !ok {
		return
	}
	defer c.Exit()
	c.Sink().(*Face).end(s)
	x.response.SetStatusCode(fasthttp.StatusNoContent)
}

// recovered keeps a panic from ending more than the request it happened in.
func (h *Handler) recovered(x *exchange) {
	if value := recover(); value != nil {
		h.panicked(PanicRequest, value, debug.Stack())
		x.spoilt = true
		h.refuse(x, ReasonPanic, detail{})
	}
}

func (h *Handler) panicked(where string, value any, stack []byte) {
	h.observer.Panicked(where)
	h.log.Error("panic", "where", where, "panic", value, "stack", string(stack))
}
