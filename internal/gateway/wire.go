package gateway

import (
	"runtime/debug"
	"time"

	"github.com/diverge-network/gateway/internal/inside"
	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/ops"
	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

// serverName is what MCP clients are told they are connected to.
const serverName = "diverge-gateway"

// Where a panic is caught that no listener catches.
const (
	panicStreams = "streams" // in the delivery of events
	panicTimer   = "timer"   // in asking again (protocol A5)
	panicSweep   = "sweep"   // in reporting containers gone, or forgetting them (protocol G5, G6)
)

// panics is every place where one is caught: first those of the outside listener.
var panics = append(outside.Panics(), inside.PanicRequest, inside.PanicStream, panicStreams, panicTimer, panicSweep)

// wire builds the rooms, each knowing only its neighbours: what a room observes goes to ops, and what ops shows of the mux
// and the streams it reads when it is asked. The listeners must be bound. Nothing was started when it fails.
func (g *Gateway) wire() error {
	streams := new(stream.Counters)
	g.ops = ops.New(ops.Config{
		Version:  g.config.Version,
		Revision: g.config.Revision,
		Refusals: map[string][]string{
			outside.Listener: append(outside.Reasons(), limit.ConnectionsPerSecond),
			inside.Listener:  append(inside.Reasons(), limit.ConnectionsPerSecond),
		},
		Paths:       paths(),
		Unheard:     []string{inside.UnheardNoStream, inside.UnheardProgress, inside.UnheardFull},
		Panics:      panics,
		Mux:         func() mux.Stats { return g.mux.Stats() },
		Limits:      append(g.config.Limits.shown(), g.holding.shown()...),
		Used:        g.used,
		MemoryShort: g.holding.memory.Short,
		Streams:     streams,
		Logger:      g.log,

		Files:        g.access.watched(),
		Certificates: g.access.certificates(),
	})
	faces, err := inside.NewFaces(inside.FacesConfig{
		Stream: &stream.Config{
			Stall:    g.config.StreamStall,
			Counters: streams,
			Panicked: func(value any, stack []byte) { g.panicked(panicStreams, value, stack) },
		},
		SessionKey: g.sessionKey,
		SessionTTL: g.config.SessionTTL,
		MaxStreams: g.config.Limits.Streams,
		Observer:   g.ops,
	})
	if err != nil {
		return err
	}
	g.mux = mux.New(mux.Config{
		ReaskAfter: g.config.ReaskAfter,
		Clock:      guardedClock{g},
		NewSink:    faces.New,
		Idle:       g.config.ContainerIdle,
		Limits: mux.Limits{
			Asks:       g.config.Limits.Asks,
			Waiting:    g.config.Limits.Waiting,
			AsksTotal:  g.config.Limits.AsksTotal,
			Containers: g.config.Limits.Containers,
		},
		MakesRoom: func() { g.ops.MadeRoom(mux.LimitContainers.String()) },
	})

	insideHandler, err := inside.New(inside.Config{
		Mux:         g.mux,
		Faces:       faces,
		MaxBody:     g.config.MaxMessage,
		KeepAlive:   g.config.SSEKeepAlive,
		SSEAfter:    g.config.SSEAfter,
		FarSide:     g.config.FarSide,
		Budget:      g.holding.budget,
		Memory:      g.holding.memory,
		AllowOrigin: g.config.AllowOrigin,
		// Off loopback the pages that call themselves local are those of the visitor's machine, not of this one.
		LoopbackOrigins: onLoopback(g.inside.bound),
		Keys:            g.access.keys,
		TLS:             speaking(g.access.inside),
		Server:          inside.Implementation{Name: serverName, Version: g.config.Version},
		Observer:        g.ops,
		Logger:          g.log,
	})
	if err != nil {
		return err
	}
	g.outside.server = outside.New(outside.Config{
		Mux:         g.mux,
		MaxMessage:  g.config.MaxMessage,
		Ping:        g.config.Ping,
		Stall:       g.config.SocketStall,
		Budget:      g.holding.budget,
		Memory:      g.holding.memory,
		MaxQueued:   g.holding.maxQueued(),
		AllowOrigin: g.config.AllowOrigin,
		Loopback:    onLoopback(g.outside.bound),
		Keys:        g.access.keys,
		TLS:         speaking(g.access.outside),
		Observer:    g.ops,
		Logger:      g.log,
	})
	g.inside.server, g.drainInside = insideHandler, insideHandler.Drain
	g.watch.server = g.ops
	return nil
}

// guardedClock is the package time's, except that a panic in what a timer does ends nothing else.
type guardedClock struct{ g *Gateway }

func (c guardedClock) AfterFunc(d time.Duration, f func()) mux.Timer {
	return time.AfterFunc(d, func() {
		defer func() {
			if value := recover(); value != nil {
				c.g.panicked(panicTimer, value, debug.Stack())
			}
		}()
		f()
	})
}

func (g *Gateway) panicked(where string, value any, stack []byte) {
	g.ops.Panicked(where)
	g.log.Error("panic", "where", where, "panic", value, "stack", string(stack))
}

// paths are the socket paths of the outside listener as metrics name them.
func paths() []string {
	all := []string{outside.RequestsLabel, outside.ContainersLabel}
	for k := range codec.Kind(codec.KindCount) {
		all = append(all, k.Name())
	}
	return all
}
