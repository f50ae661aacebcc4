package gateway

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diverge-network/gateway/internal/inside"
	"github.com/diverge-network/gateway/pkg/mux"
)

// Limits of what a Config may ask for.
const (
	minMessage  = 1 << 10
	maxMessage  = 1 << 30
	minInterval = 100 * time.Millisecond // of what recurs or is waited for: less is a busy loop by mistake
)

// Config is what a gateway runs with. Its zero value is not valid: begin with Default. It is read once, by New.
type Config struct {
	// Addresses of the three listeners, HOST:PORT; port 0 picks a free one.
	Outside string // the provider's server
	Inside  string // the containers' MCP clients
	Ops     string // metrics and probes

	// Insecure lets Outside and Inside be reached from other machines although nobody is asked for a token.
	Insecure bool
	// AllowOrigin are web origins (scheme://host[:port]) whose pages may speak to Inside, besides loopback ones.
	AllowOrigin []string

	// AuthKeys is the file of the keys that verify tokens, a JWKS. "": nobody on Outside and Inside is asked for one.
	AuthKeys string
	// TLSCert and TLSKey are the files that Outside and Inside speak TLS with, in PEM: both, or "" for plain HTTP.
	TLSCert, TLSKey string
	// ClientCA is a file of certificates, in PEM, of which one must have signed that of each client of Outside; "" for
	// clients without certificates. It replaces no token.
	ClientCA string

	// ReaskAfter is how long after an answer broke off its exchange is asked again on the same connection (protocol A5);
	// mux.Never waits for the next one.
	ReaskAfter time.Duration
	// MaxMessage is the most bytes one message may have, from either side (protocol W9).
	MaxMessage int
	// Ping is the time between pings on quiet WebSockets (protocol W4), and between keep-alives on a quiet list of containers.
	Ping time.Duration
	// ContainerIdle is after how long of doing nothing a container is reported gone and forgotten (protocol G5, G6); 0: never.
	ContainerIdle time.Duration

	// SessionKeyFile holds the key that signs session ids. "": a random key, and sessions end with the process.
	SessionKeyFile string
	// SessionTTL is how long an unused session lives.
	SessionTTL time.Duration
	// StreamStall is how long an event stream may make no progress while something is queued for it.
	StreamStall time.Duration
	// SSEKeepAlive is the time between comments on a quiet event stream.
	SSEKeepAlive time.Duration
	// SSEAfter is how long a request waits for its response in JSON before that becomes an event stream, which it does at
	// once where there is progress; 0 is at once, mux.Never always JSON and no progress.
	SSEAfter time.Duration

	// FarSide is the MCP revision of what is behind the provider's server, which decides what it is told of the stateless
	// one: one of inside.FarSides, or "" for any revision with sessions.
	FarSide string

	// Version and Revision name this build, to clients and in metrics.
	Version, Revision string

	Logger *slog.Logger // nil: slog.Default()
}

// Default is a gateway on loopback with its documented ports.
func Default() Config {
	return Config{
		Outside:       "127.0.0.1:14979",
		Inside:        "127.0.0.1:8080",
		Ops:           "127.0.0.1:9090",
		ReaskAfter:    time.Second,
		MaxMessage:    64 << 20,
		Ping:          30 * time.Second,
		ContainerIdle: 10 * time.Minute,
		SessionTTL:    24 * time.Hour,
		StreamStall:   30 * time.Second,
		SSEKeepAlive:  15 * time.Second,
		SSEAfter:      5 * time.Second,
	}
}

// Validate returns a *ConfigError for the first setting that cannot be meant, and changes nothing. What depends on the
// machine (files, names, ports in use) is found out by New and Start.
func (c *Config) Validate() error {
	for _, l := range c.listeners() {
		if err := l.validate(c.protected()); err != nil {
			return err
		}
	}
	if err := c.validateAccess(); err != nil {
		return err
	}
	if err := c.distinctAddresses(); err != nil {
		return err
	}
	for _, origin := range c.AllowOrigin {
		if err := validateOrigin(origin); err != nil {
			return err
		}
	}
	if c.ReaskAfter < 0 && c.ReaskAfter != mux.Never {
		return &ConfigError{Flag: "--reask-after", Value: c.ReaskAfter.String(), Problem: "is negative: use a duration, 0 for at once, or never"}
	}
	if c.SSEAfter < 0 && c.SSEAfter != mux.Never {
		return &ConfigError{Flag: "--sse-after", Value: c.SSEAfter.String(), Problem: "is negative: use a duration, 0 for at once, or never"}
	}
	if c.FarSide != "" && !slices.Contains(inside.FarSides(), c.FarSide) {
		return &ConfigError{Flag: "--far-side", Value: c.FarSide, Problem: "is no revision that is served: there are " + strings.Join(inside.FarSides(), ", ")}
	}
	if c.MaxMessage < minMessage || c.MaxMessage > maxMessage {
		return &ConfigError{Flag: "--max-message", Value: strconv.Itoa(c.MaxMessage),
			Problem: fmt.Sprintf("is out of range: %d bytes (1KiB) to %d bytes (1GiB)", minMessage, maxMessage)}
	}
	if c.ContainerIdle != 0 && c.ContainerIdle < minInterval {
		return &ConfigError{Flag: "--container-idle", Value: c.ContainerIdle.String(),
			Problem: "is too short: " + minInterval.String() + " is the least, and 0 keeps containers for ever"}
	}
	for _, interval := range []struct {
		flag  string
		value time.Duration
	}{
		{"--ping", c.Ping},
		{"--session-ttl", c.SessionTTL},
		{"--stream-stall", c.StreamStall},
		{"--sse-keepalive", c.SSEKeepAlive},
	} {
		if interval.value < minInterval {
			return &ConfigError{Flag: interval.flag, Value: interval.value.String(), Problem: "is too short: " + minInterval.String() + " is the least"}
		}
	}
	return nil
}

// listener is one of the three addresses, by the flag that sets it.
type listener struct {
	flag, address string
	open          bool // may be reached from other machines although nobody is asked for a token
	spares        int  // one in so many descriptors is left to the listeners behind it; 0: none
}

func (c *Config) listeners() [3]listener {
	return [3]listener{
		// Whoever has all of the containers' descriptors must not have those by which the calls that were let in are
		// answered, nor anybody those of the probes: a gateway that looks dead is restarted.
		{flag: "--outside", address: c.Outside, spares: 64},
		{flag: "--inside", address: c.Inside, spares: 16},
		// Metrics and probes show no payload, and are there to be scraped from elsewhere.
		{flag: "--ops", address: c.Ops, open: true},
	}
}

// validate judges the address as far as it can be without asking the machine: a host name is resolved by Start.
func (l listener) validate(protected bool) error {
	host, port, err := net.SplitHostPort(l.address)
	if err != nil {
		return &ConfigError{Flag: l.flag, Value: l.address, Problem: "is no HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080"}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return &ConfigError{Flag: l.flag, Value: l.address, Problem: "has no port between 0 and 65535"}
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && !ip.Unmap().IsLoopback() {
		return l.judgeReach(protected)
	}
	return nil
}

// judgeReach is called when the address can be reached from other machines.
func (l listener) judgeReach(protected bool) error {
	if l.open || protected {
		return nil
	}
	return &ConfigError{Flag: l.flag, Value: l.address, Problem: "can be reached from other machines, and nobody is asked for a token: " +
		"name a key file with --auth-keys (gateway keys new makes one), bind 127.0.0.1, or accept the risk with --insecure"}
}

func (c *Config) distinctAddresses() error {
	seen := make(map[string]string, 3)
	for _, l := range c.listeners() {
		if _, port, err := net.SplitHostPort(l.address); err == nil && port == "0" {
			continue
		}
		if first, taken := seen[l.address]; taken {
			return &ConfigError{Flag: l.flag, Value: l.address, Problem: "is the address of " + first + " too: give each listener its own port"}
		}
		seen[l.address] = l.flag
	}
	return nil
}

func validateOrigin(origin string) error {
	bad := func(problem string) error {
		return &ConfigError{Flag: "--allow-origin", Value: origin, Problem: problem}
	}
	if strings.Contains(origin, "*") {
		return bad("has a wildcard: any page a developer visits could speak for a container; name each origin")
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
		return bad("is no origin: write scheme://host or scheme://host:port, without a path, such as https://app.example.com")
	}
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return bad("has the port that goes without saying, which browsers leave out: write " + u.Scheme + "://" + u.Hostname())
	}
	return nil
}
