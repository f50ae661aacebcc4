package upstream

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Defaults for a Config whose fields are zero.
const (
	DefaultMaxMessage     = 64 << 20
	DefaultConnectTimeout = 10 * time.Second
)

// Config says which MCP server is behind an Upstream or a Shared. Exactly one of URL and Command is set.
type Config struct {
	// URL is a Streamable HTTP endpoint, http or https.
	URL string
	// Header is sent with every request to URL's host, and to no other host that it may redirect to.
	Header http.Header
	// RoundTripper carries the requests; nil: a transport of its own.
	RoundTripper http.RoundTripper

	// Command is a program and its arguments; it speaks MCP on standard input and output. What it writes
	// to standard error is logged, as far as Logger's bounds go.
	Command []string
	// Env is added to the environment of the process ("KEY=value"); Dir is where it runs, empty: here.
	Env []string
	Dir string

	// Name and Version introduce the client to the server. Empty: "diverge-gateway" and "dev".
	Name, Version string
	// MaxMessage is the largest message taken from the server, in bytes. 0: DefaultMaxMessage.
	MaxMessage int
	// ConnectTimeout bounds one attempt to connect, handshake included, and the wait of an ask for a session. After a
	// third of it a server that does not answer the question for its era is taken for an old one. 0:
	// DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Logger gets what an operator should see; nil: slog.Default. It gets ten lines of one sort in a second at most, and
	// then how many were left out, whatever the server does. Why a call failed is told to it alone, not to the caller.
	Logger *slog.Logger

	idle     int           // connections to URL that are kept for the next requests; 0: idlePerHost
	silence  time.Duration // how long the question for the era may stay without an answer; 0: a third of ConnectTimeout
	exit     time.Duration // how long a process has to exit, each time it is told to; 0: exitTimeout
	courtesy time.Duration // bounds messages that nobody waits for; 0: courtesyTimeout
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "diverge-gateway"
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = DefaultMaxMessage
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = DefaultConnectTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.idle == 0 {
		c.idle = idlePerHost
	}
	if c.silence == 0 {
		c.silence = c.ConnectTimeout / 3
	}
	if c.exit == 0 {
		c.exit = exitTimeout
	}
	if c.courtesy == 0 {
		c.courtesy = courtesyTimeout
	}
	return c
}

// dialer is the transport that the Config asks for.
func (c Config) dialer(counters *counters) (dialer, error) {
	switch {
	case c.URL == "" && len(c.Command) == 0:
		return nil, errors.New("upstream: neither a URL nor a command is given")
	case c.URL != "" && len(c.Command) != 0:
		return nil, errors.New("upstream: both a URL and a command are given; one server is behind one upstream")
	case len(c.Command) != 0:
		return newCommandDialer(c, &counters.noise), nil
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("upstream: URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("upstream: URL %q is not an http:// or https:// URL, such as http://127.0.0.1:3001/mcp", u.Redacted())
	}
	return newHTTPDialer(c, u), nil
}
