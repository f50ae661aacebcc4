package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How many idle connections are kept for the next requests, of one container or of all. Each call has a connection to
// itself; one that is not kept costs a port for the TIME_WAIT of a minute.
const (
	idlePerHost = 64
	idleShared  = 1024
)

// httpDialer makes Streamable HTTP connections to one endpoint.
type httpDialer struct {
	endpoint *url.URL
	header   http.Header
	limit    int
	base     http.RoundTripper
	own      *http.Transport // base, if it is the dialer's own
}

func newHTTPDialer(c Config, endpoint *url.URL) *httpDialer {
	d := &httpDialer{endpoint: endpoint, header: c.Header, limit: c.MaxMessage, base: c.RoundTripper}
	if d.base == nil {
		d.own = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: c.idle,
			IdleConnTimeout:     idleTimeout,
			TLSHandshakeTimeout: DefaultConnectTimeout,
		}
		d.base = d.own
	}
	return d
}

// String is the endpoint without user, password and query, which may be secret.
func (d *httpDialer) String() string {
	return (&url.URL{Scheme: d.endpoint.Scheme, Host: d.endpoint.Host, Path: d.endpoint.Path}).String()
}

func (d *httpDialer) close() {
	if d.own != nil {
		d.own.CloseIdleConnections()
	}
}

func (d *httpDialer) dial(ctx context.Context, log *slog.Logger) (link, error) {
	t := &roundTripper{dialer: d}
	transport := &mcp.StreamableClientTransport{
		Endpoint:             d.endpoint.String(),
		HTTPClient:           &http.Client{Transport: t},
		MaxEventSize:         d.limit,
		DisableStandaloneSSE: true, // opened by standalone, see there
	}
	conn, err := transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &httpLink{conn: conn, trip: t, log: log}, nil
}

// httpLink is a Streamable HTTP connection: a POST per message, and the standalone stream.
type httpLink struct {
	conn mcp.Connection
	trip *roundTripper
	log  *slog.Logger

	tools *toolheader.Tools // that are known; set before the first call of one
	plain atomic.Bool       // the server does not know encoded names
}

func (l *httpLink) read(ctx context.Context) (jsonrpc.Message, error) { return l.conn.Read(ctx) }

func (l *httpLink) write(ctx context.Context, msg jsonrpc.Message) error {
	x := &exchange{}
	if request, ok := msg.(*jsonrpc.Request); ok && request.IsCall() {
		x.call = fmt.Sprint(request.ID.Raw())
		if version := l.trip.version.Load(); request.Method == methodDiscover || version != nil && isStateless(*version) {
			x.routing = newRouting(request, l.tools)
			x.routing.plain = l.plain.Load() && x.routing.spellable()
		}
	}
	err := l.post(ctx, msg, x)
	var refusal *refusedError
	if x.routing == nil || !x.routing.spellable() || !errors.As(err, &refusal) || !refusal.is(codeHeaderMismatch) {
		return err
	}
	x.routing.plain = true
	x.refusal = nil
	if err = l.post(ctx, msg, x); err == nil {
		l.plain.Store(true)
	}
	return err
}

func (l *httpLink) post(ctx context.Context, msg jsonrpc.Message, x *exchange) error {
	err := l.conn.Write(context.WithValue(ctx, exchangeKey{}, x), msg)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case x.refusal != nil:
		return x.refusal
	}
	var odd *unusableError
	if errors.As(err, &odd) {
		return odd
	}
	return &brokenError{cause: err, unexecuted: unsent(err)}
}

// negotiated makes every further request name the revision: the SDK's connection does so only under the SDK's client, or
// where a stateless request declares it.
func (l *httpLink) negotiated(version string, tools *toolheader.Tools) {
	l.tools = tools
	l.trip.version.Store(&version)
}

func (l *httpLink) streamEach() bool { return true }

// close ends the session at the server, which a DELETE tells, and every stream.
func (l *httpLink) close() {
	if err := l.conn.Close(); err != nil {
		l.log.Debug("could not end the MCP session at its server", "error", reason(err))
	}
}

// exchange is what a RoundTrip leaves for the write that caused it.
type exchange struct {
	call       string        // the id of the request that is to be answered; empty: nothing is
	routing    *routing      // what a stateless request is routed by; nil: it is none
	standalone bool          // make it the GET of the standalone stream
	refusal    *refusedError // the status the server refused with
}

type exchangeKey struct{}

// roundTripper stands between the SDK's connection and the network, where it sees what the connection keeps to itself.
//
// The connection ends its session over most refusals and over every answer it cannot read, with all requests in flight.
// So refusals are noted in the exchange and passed on as 503, which the connection takes for a failure of the one
// request, and a JSON answer is read and checked here: one with another id would leave its caller without any.
type roundTripper struct {
	dialer  *httpDialer
	version atomic.Pointer[string] // nil before the handshake
}
