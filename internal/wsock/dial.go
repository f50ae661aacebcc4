package wsock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
)

// ErrHandshake is wrapped by the errors of Dial that a peer caused which
// accepted the upgrade, but not as RFC 6455 has it.
var ErrHandshake = errors.New("the answer to the WebSocket upgrade is not valid")

// RefusedError is what Dial returns when the server answered the upgrade with
// another response than a 101.
type RefusedError struct {
	Status int    // of the response
	Reason string // the first line of its body, cut to 1 KiB
}

func (e *RefusedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("the WebSocket was refused with %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the WebSocket was refused with %d: %s", e.Status, e.Reason)
}

// Dial opens a WebSocket as a client, at a ws or wss URL, and adds header to
// the request; ctx bounds it all, and nothing after it has returned. Dial
// returns a *RefusedError when the server said no, an error that is
// ErrHandshake when it said yes in a wrong way, and errors of the network
// otherwise. The connection must be Served, or Cut.
func Dial(ctx context.Context, rawURL string, header http.Header, cfg *Config) (*Conn, error) {
	c, err := dial(ctx, rawURL, header, cfg)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", redacted(rawURL), err)
	}
	return c, nil
}

func dial(ctx context.Context, rawURL string, header http.Header, cfg *Config) (*Conn, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("not a URL: %w", errors.Unwrap(err))
	}
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	nc, err := connect(ctx, u, cfg.TLS)
	if err != nil {
		return nil, err
	}
	early, err := handshake(ctx, nc, u, header)
	if err != nil {
		nc.Close()
		return nil, err
	}
	c := new(Conn)
	c.init(nc, early, cfg, true)
	c.sc.SetUserTimeout(sock.UserTimeout) // as a listener's sockets have it; not every connection can
	return c, nil
}

// redacted is the URL without a password that it may hold.
func redacted(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "the given URL"
	}
	return u.Redacted()
}

func connect(ctx context.Context, u *url.URL, conf *tls.Config) (net.Conn, error) {
	port := "80"
	switch u.Scheme {
	case "ws":
	case "wss":
		port = "443"
	default:
		return nil, fmt.Errorf("the scheme is %q: use ws or wss", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("the URL names no host")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	address := net.JoinHostPort(u.Hostname(), port)
	var d net.Dialer
	if u.Scheme == "ws" {
		return d.DialContext(ctx, "tcp", address)
	}
	td := tls.Dialer{NetDialer: &d, Config: conf}
	return td.DialContext(ctx, "tcp", address)
}

// handshake makes the upgrade, and returns the bytes that came behind the 101.
func handshake(ctx context.Context, nc net.Conn, u *url.URL, header http.Header) (early []byte, err error) {
	// A past deadline interrupts whatever waits on the connection.
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	early, err = exchange(nc, u, header)
	if !stop() {
		return nil, ctx.Err()
	}
	return early, err
}
