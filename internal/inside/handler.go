package inside

import (
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/keepalive"
	"github.com/diverge-network/gateway/pkg/mux"
)

// maxHeader is the most bytes that a request's head may have.
const maxHeader = 8 << 10

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
	// AllowOrigin lists the origins, such as https://example.com, whose pages
	// may use the listener. LoopbackOrigins allows those of this machine, which
	// is safe only while the listener is on loopback.
	AllowOrigin     []string
	LoopbackOrigins bool
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
	http        *fasthttp.Server
	ring        *keepalive.Ring
	origins     origins
	initialized [len(revisions)][]byte
	observer    Observer
	log         *slog.Logger

	roster  roster
	running sync.WaitGroup // accept loops, connections that speak HTTP, event streams

	mu        sync.Mutex // guards listeners and the closing of stopping; a leaf
	listeners map[net.Listener]struct{}
	stopping  chan struct{}
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
	initialized, err := initializeResults(config.Server)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		cfg:         config,
		mux:         config.Mux,
		faces:       config.Faces,
		ring:        keepalive.NewRing(config.KeepAlive),
		origins:     newOrigins(config.AllowOrigin, config.LoopbackOrigins),
		initialized: initialized,
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
	h.roster.init()
	h.http = h.server()
	h.ring.Panicked = func(value any, stack []byte) { h.panicked(PanicStream, value, stack) }
	h.ring.Start()
	return h, nil
}

func (h *Handler) server() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               h.serve,
		HeaderReceived:        h.headerReceived,
		ExpectHandler:         h.expected,
		ErrorHandler:          h.failed,
		Logger:                httpLog{h.log},
		MaxRequestBodySize:    h.cfg.MaxBody,
		ReadBufferSize:        maxHeader,
		ReduceMemoryUsage:     true, // an idle connection holds no buffer
		KeepHijackedConns:     true, // event streams are ours once handed over
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,

		DisablePreParseMultipartForm: true,
	}
}

// serve answers one request.
func (h *Handler) serve(ctx *fasthttp.RequestCtx) {
	defer h.recovered(ctx)
	if h.stopped() {
		ctx.SetConnectionClose()
	}
	id, refused := h.judge(&ctx.Request.Header)
	if refused != "" {
		h.refuse(ctx, refused, h.refusalDetail(refused))
		return
	}
	container := containerName(id)
	switch string(ctx.Method()) {
	case fasthttp.MethodPost:
		h.post(ctx, container)
	case fasthttp.MethodGet:
		h.listen(ctx, container)
	default: // DELETE: judge lets nothing else pass
		h.end(ctx, container)
	}
}

// end serves a DELETE: the client is done with its session.
func (h *Handler) end(ctx *fasthttp.RequestCtx, container string) {
	c, s, refused := h.admit(ctx, container)
	if refused != "" {
		h.refuse(ctx, refused, detail{})
		return
	}
	defer c.Exit()
	c.Sink().(*Face).end(s)
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// failed answers a request that fasthttp could not read; the connection ends.
func (h *Handler) failed(ctx *fasthttp.RequestCtx, err error) {
	defer h.recovered(ctx)
	var (
		tooSmall *fasthttp.ErrSmallBuffer
		broken   net.Error
	)
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		h.refuse(ctx, ReasonTooBig, h.refusalDetail(ReasonTooBig))
	case errors.As(err, &tooSmall):
		h.refuse(ctx, ReasonHeaderTooBig, detail{})
	case h.stopped():
		h.refuse(ctx, ReasonShutdown, detail{})
		return
	case errors.As(err, &broken):
		ctx.SetStatusCode(fasthttp.StatusRequestTimeout)
		return // the connection broke: there is nobody to tell
	default:
		h.refuse(ctx, ReasonMalformed, detail{cause: err.Error()})
	}
	h.farewell(ctx)
}

// recovered keeps a panic from ending more than the request it happened in.
func (h *Handler) recovered(ctx *fasthttp.RequestCtx) {
	if value := recover(); value != nil {
		h.panicked(PanicRequest, value, debug.Stack())
		h.refuse(ctx, ReasonPanic, detail{})
	}
}

func (h *Handler) panicked(where string, value any, stack []byte) {
	h.observer.Panicked(where)
	h.log.Error("panic", "where", where, "panic", value, "stack", string(stack))
}

// refusalDetail adds to a refusal the limit it is about.
func (h *Handler) refusalDetail(reason Reason) detail {
	if reason != ReasonTooBig {
		return detail{}
	}
	return detail{cause: "the limit is " + strconv.Itoa(h.cfg.MaxBody) + " bytes"}
}
