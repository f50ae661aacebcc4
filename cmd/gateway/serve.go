package main

import (
	"context"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/diverge-network/gateway/internal/gateway"
	"github.com/diverge-network/gateway/internal/limit"
)

// closeWithin is how long a graceful close may take before what is left is cut.
const closeWithin = 10 * time.Second

type serveCmd struct {
	Outside string `help:"Address that the provider's server connects to [${default}]." default:"127.0.0.1:14979" env:"GATEWAY_OUTSIDE" placeholder:"HOST:PORT" group:"Listeners"`
	Inside  string `help:"Address that the containers' MCP clients connect to [${default}]." default:"127.0.0.1:8080" env:"GATEWAY_INSIDE" placeholder:"HOST:PORT" group:"Listeners"`
	Ops     string `help:"Address of /metrics, /healthz and /readyz [${default}]." default:"127.0.0.1:9090" env:"GATEWAY_OPS" placeholder:"HOST:PORT" group:"Listeners"`

	AuthKeys string `help:"File of the keys that verify tokens, a JWKS as gateway keys new makes. Everybody on --outside and --inside then needs a token of gateway token; without it they bind loopback only. A change of it is taken while running." env:"GATEWAY_AUTH_KEYS" placeholder:"FILE" group:"Access"`
	TLSCert  string `name:"tls-cert" help:"File of the certificate (PEM, with those between it and its root) that --outside and --inside speak TLS with. A change is taken while running." env:"GATEWAY_TLS_CERT" placeholder:"FILE" group:"Access"`
	TLSKey   string `name:"tls-key" help:"File of its private key (PEM)." env:"GATEWAY_TLS_KEY" placeholder:"FILE" group:"Access"`
	ClientCA string `name:"client-ca" help:"File of the CAs (PEM) of which one must have signed the certificate of whoever connects to --outside. It replaces no token." env:"GATEWAY_CLIENT_CA" placeholder:"FILE" group:"Access"`

	Insecure    bool     `help:"Let --outside and --inside be reached from other machines although nobody is asked for a token." env:"GATEWAY_INSECURE" group:"Listeners"`
	AllowOrigin []string `help:"Web origin besides loopback ones whose pages may speak to --inside, such as https://app.example.com; repeatable." env:"GATEWAY_ALLOW_ORIGIN" placeholder:"ORIGIN" group:"Listeners"`

	ReaskAfter orNever       `help:"Ask again on the same connection this long after an answer broke off (doubling): a duration, 0 for at once, or never [${default}]." default:"1s" env:"GATEWAY_REASK_AFTER" placeholder:"1s|0|never" group:"Exchanges"`
	MaxMessage byteSize      `help:"Largest message taken, from either side [${default}]." default:"64MiB" env:"GATEWAY_MAX_MESSAGE" placeholder:"SIZE" group:"Exchanges"`
	Ping       time.Duration `help:"Time between pings on quiet WebSockets [${default}]." default:"30s" env:"GATEWAY_PING" placeholder:"DURATION" group:"Exchanges"`
	FarSide    string        `help:"Set it to 2026-07-28 where the MCP servers behind the provider's server are stateless: requests then keep what such servers demand of clients. Leave it out otherwise, and behind gateway answer unless clients' capabilities matter." env:"GATEWAY_FAR_SIDE" placeholder:"REVISION" group:"Exchanges"`

	MaxBuffered             byteSize      `help:"Most bytes held for one container: requests from when they are read, answers until they are taken; 0 for any number [${default}]." default:"256MiB" env:"GATEWAY_MAX_BUFFERED" placeholder:"SIZE" group:"Limits"`
	MaxBufferedTotal        byteSize      `help:"The same for all containers together; 0 for half of GOMEMLIMIT, or else of what the cgroup or the machine has [${default}]." default:"0" env:"GATEWAY_MAX_BUFFERED_TOTAL" placeholder:"SIZE" group:"Limits"`
	MaxConnectionsPerSecond int           `help:"New connections a second of one address, or IPv6 network of 64 bits, to --outside and to --inside each, but not of loopback; 0 for any number [${default}]." default:"1000" env:"GATEWAY_MAX_CONNECTIONS_PER_SECOND" placeholder:"N" group:"Limits"`
	SocketStall             time.Duration `help:"Close a /requests socket, or a list of containers, whose peer took nothing for this long while something was queued, at most 1m [${default}]." default:"30s" env:"GATEWAY_SOCKET_STALL" placeholder:"DURATION" group:"Limits"`

	ContainerIdle time.Duration `help:"Report a container gone whose clients did nothing for this long, and forget it once its server has been gone for as long; 0 for never [${default}]." default:"10m" env:"GATEWAY_CONTAINER_IDLE" placeholder:"DURATION" group:"Containers"`

	DrainTimeout time.Duration `help:"How long after SIGTERM what servers were asked already may still be answered, while new requests get 503; the callers that are left then get an error. 0: not at all [${default}]." default:"25s" env:"GATEWAY_DRAIN_TIMEOUT" placeholder:"DURATION" group:"Exchanges"`
	Limits       limitFlags    `embed:"" group:"Limits"`

	SessionKeyFile string        `help:"File whose content (32 bytes or more) signs session ids, so that they outlive a restart and hold on every replica; a random key otherwise." env:"GATEWAY_SESSION_KEY_FILE" placeholder:"FILE" group:"Sessions and streams"`
	SessionTTL     time.Duration `help:"How long an unused session lives [${default}]." default:"24h" env:"GATEWAY_SESSION_TTL" placeholder:"DURATION" group:"Sessions and streams"`
	StreamStall    time.Duration `help:"Close an event stream whose reader took nothing for this long [${default}]." default:"30s" env:"GATEWAY_STREAM_STALL" placeholder:"DURATION" group:"Sessions and streams"`
	SSEKeepalive   time.Duration `name:"sse-keepalive" help:"Time between comments on a quiet event stream [${default}]." default:"15s" env:"GATEWAY_SSE_KEEPALIVE" placeholder:"DURATION" group:"Sessions and streams"`
	SSEAfter       orNever       `name:"sse-after" help:"Answer with JSON within this time; later, or at the first progress, with an event stream. 0: always a stream; never: always JSON, and no progress [${default}]." default:"5s" env:"GATEWAY_SSE_AFTER" placeholder:"5s|0|never" group:"Sessions and streams"`
}

func (s *serveCmd) config(w *world) gateway.Config {
	b := readBuild()
	return gateway.Config{
		Outside:        s.Outside,
		Inside:         s.Inside,
		Ops:            s.Ops,
		Insecure:       s.Insecure,
		AllowOrigin:    s.AllowOrigin,
		AuthKeys:       s.AuthKeys,
		TLSCert:        s.TLSCert,
		TLSKey:         s.TLSKey,
		ClientCA:       s.ClientCA,
		ReaskAfter:     time.Duration(s.ReaskAfter),
		MaxMessage:     int(s.MaxMessage),
		Ping:           s.Ping,
		ContainerIdle:  s.ContainerIdle,
		Limits:         s.Limits.limits(),
		SessionKeyFile: s.SessionKeyFile,
		SessionTTL:     s.SessionTTL,
		StreamStall:    s.StreamStall,
		SSEKeepAlive:   s.SSEKeepalive,
		SSEAfter:       time.Duration(s.SSEAfter),
		FarSide:        s.FarSide,
		Held:           gateway.Held{PerContainer: int64(s.MaxBuffered), Total: int64(s.MaxBufferedTotal)},
		SocketStall:    s.SocketStall,
		DrainTimeout:   s.DrainTimeout,

		MaxConnectionsPerSecond: s.MaxConnectionsPerSecond,

		Version:  b.version,
		Revision: b.revision,
		Logger:   w.log,
	}
}

// sayMemory says what was found out about the memory that there is, and made of it.
func sayMemory(log *slog.Logger, config *gateway.Config, source string) {
	total := config.Held.All()
	log.Info("memory", "limit", config.Held.Memory, "available", config.Held.Available, "from", source, "max-buffered-total", total)
	if total > 0 && total < 2*int64(config.MaxMessage) {
		log.Warn("large messages will be refused: what may be held for all containers is less than twice --max-message; give the process more memory, or lower --max-message",
			"max-buffered-total", total, "max-message", config.MaxMessage)
	}
}

// Run serves until the world's context ends, then lets what is being answered be answered and closes gracefully.
func (s *serveCmd) Run(w *world) error {
	// Who asks a service to read its files anew must not end every container's calls.
	signal.Ignore(syscall.SIGHUP)
	allowance := limit.Allow()
	config := s.config(w)
	config.Held.Memory, config.Held.Available = allowance.Limit, allowance.Memory
	g, err := gateway.New(config)
	if err != nil {
		return err
	}
	if err := g.Start(); err != nil {
		return err
	}
	s.warn(w, g)
	fmt.Fprintln(w.stdout, s.summary(g))
	sayMemory(w.log, &config, allowance.Source)
	w.log.Info("serving", "outside", g.OutsideAddr().String(), "inside", g.InsideAddr().String(), "ops", g.OpsAddr().String())
	select {
	case <-w.ctx.Done():
		w.log.Info("stopping", "drain_timeout", s.DrainTimeout)
		if left := g.Drain(context.Background()); left > 0 {
			w.log.Warn("the drain timed out: callers get an error", "drain_timeout", s.DrainTimeout, "callers", left)
		}
	case <-g.Failed():
	}
	return closeGateway(g)
}

// warn says what is open to others than it should be.
func (s *serveCmd) warn(w *world, g *gateway.Gateway) {
	switch {
	case s.AuthKeys == "" && s.Insecure:
		w.log.Warn("--insecure: whoever reaches the listeners may speak for any container")
	case s.AuthKeys != "" && s.TLSCert == "" && g.Reachable():
		w.log.Warn("tokens come over the network in the clear: use --tls-cert and --tls-key, or listen behind a proxy that speaks TLS")
	}
}

// summary is the line that says where the gateway can be reached.
func (s *serveCmd) summary(g *gateway.Gateway) string {
	secure := ""
	if s.TLSCert != "" {
		secure = "s"
	}
	return fmt.Sprintf("gateway: outside ws%s://%s  inside http%s://%s/mcp  ops http://%s/metrics", secure, g.OutsideAddr(), secure, g.InsideAddr(), g.OpsAddr())
}

func closeGateway(g *gateway.Gateway) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	return g.Close(ctx)
}
