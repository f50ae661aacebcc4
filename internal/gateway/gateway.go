// Package gateway puts the rooms together: the mux between the outside and the inside listener, and the ops listener that
// watches all of them.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/diverge-network/gateway/internal/inside"
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/ops"
	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/pkg/mux"
)

// room is one listener and what serves it.
type room struct {
	listener
	server interface {
		Serve(net.Listener) error
		Shutdown(context.Context) error
	}
	bound net.Listener // nil before Start
}

// Gateway is one gateway. Start it once and, if that succeeded, close it once; the other methods may be called from any
// goroutine in between.
type Gateway struct {
	config     Config
	sessionKey []byte
	holding    holding
	log        *slog.Logger

	// Set by Start.
	access  access
	mux     *mux.Mux
	ops     *ops.Ops
	outside room
	inside  room
	watch   room

	drainInside func() // set by Start

	serving sync.WaitGroup // one goroutine per listener, and the sweep
	ending  chan struct{}  // closed by Close
	mu      sync.Mutex     // guards what follows
	closing bool
	broken  error         // of a listener that ended by itself
	failed  chan struct{} // closed when broken is set
}

// New validates the configuration and starts nothing. The error is a *ConfigError.
func New(config Config) (*Gateway, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	key, err := sessionKey(config.SessionKeyFile)
	if err != nil {
		return nil, err
	}
	g := &Gateway{config: config, sessionKey: key, log: config.Logger, ending: make(chan struct{}), failed: make(chan struct{})}
	if g.log == nil {
		g.log = slog.Default()
	}
	g.holding = newHolding(&g.config, g.log)
	listeners := config.listeners()
	g.outside.listener, g.inside.listener, g.watch.listener = listeners[0], listeners[1], listeners[2]
	return g, nil
}

// Start opens all three listeners, or none: the error is a *ListenError or a *ConfigError then. On success the gateway is
// ready; it serves until Close.
func (g *Gateway) Start() error {
	if err := g.open(); err != nil {
		for _, r := range g.rooms() {
			if r.bound != nil {
				_ = r.bound.Close()
			}
		}
		return err
	}
	for _, r := range g.rooms() {
		g.serving.Go(func() { g.serve(r) })
	}
	if g.holding.memory != nil {
		g.serving.Go(func() { g.holding.memory.Watch(g.ending) })
	}
	if g.config.ContainerIdle > 0 {
		g.serving.Go(g.sweep)
	}
	g.ops.SetReady(true)
	return nil
}

func (g *Gateway) open() error {
	if err := g.access.open(g); err != nil {
		return err
	}
	err := g.bind()
	if err == nil {
		err = g.wire()
	}
	if err != nil {
		g.access.close()
		return err
	}
	g.admit(&g.outside, outside.Listener, g.access.outside != nil)
	g.admit(&g.inside, inside.Listener, g.access.inside != nil)
	return nil
}

func (g *Gateway) bind() error {
	for _, r := range g.rooms() {
		var err error
		if r.bound, err = r.listen(context.Background(), g.config.protected()); err != nil {
			return err
		}
	}
	return nil
}

// admit bounds how fast an address may connect to a listener.
func (g *Gateway) admit(r *room, name string, secure bool) {
	r.bound = g.holding.admitting(r.bound, secure, func() { g.ops.Refused(name, limit.ConnectionsPerSecond) })
}

func (g *Gateway) rooms() [3]*room { return [3]*room{&g.outside, &g.inside, &g.watch} }

// serve runs one listener. One that ends before Close is a failure of the whole gateway: it must not look alive.
func (g *Gateway) serve(r *room) {
	err := r.server.Serve(r.bound)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing || g.broken != nil {
		return
	}
	if err == nil {
		err = net.ErrClosed
	}
	g.broken = fmt.Errorf("%s: the listener on %s ended: %w", r.flag, r.bound.Addr(), err)
	g.ops.SetReady(false)
	close(g.failed)
}

// Failed is closed when a listener ended by itself. Close then returns why.
func (g *Gateway) Failed() <-chan struct{} { return g.failed }

// OutsideAddr, InsideAddr and OpsAddr are the addresses that Start bound.
func (g *Gateway) OutsideAddr() net.Addr { return g.outside.bound.Addr() }
func (g *Gateway) InsideAddr() net.Addr  { return g.inside.bound.Addr() }
func (g *Gateway) OpsAddr() net.Addr     { return g.watch.bound.Addr() }

// Reachable reports whether the inside or the outside listener can be reached from other machines.
func (g *Gateway) Reachable() bool {
	return !onLoopback(g.inside.bound) || !onLoopback(g.outside.bound)
}

// Close stops serving: /readyz fails, nothing new is accepted, callers that wait are told that the gateway stops, and the
// sockets are closed: first /requests with a Close, and answer paths without one (protocol A6), then the clients' streams,
// those of subscriptions with their last result. It returns when every goroutine
// of the gateway has ended; what is left when ctx ends is cut. The error says what did not end well, also before Close.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closing = true
	broken := g.broken
	g.mu.Unlock()

	g.ops.SetReady(false)
	close(g.ending)
	_ = g.outside.bound.Close()
	_ = g.inside.bound.Close()
	// Callers are answered before their connections are closed.
	g.mux.Stop()
	// What servers say until the end of their connections still has streams to go to.
	outsideErr := g.outside.server.Shutdown(ctx)
	insideErr := g.inside.server.Shutdown(ctx)
	// Last, so that the end can be watched.
	opsErr := g.ops.Shutdown(ctx)
	g.serving.Wait()
	g.access.close()
	return errors.Join(broken, outsideErr, insideErr, opsErr)
}
