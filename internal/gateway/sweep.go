package gateway

import (
	"runtime/debug"
	"time"
)

// sweepsPerIdle is how often containers are looked at within --container-idle: it is by how much of it they stay too long.
const sweepsPerIdle = 8

// sweep has idle containers reported and forgotten (protocol G5, G6) until Close.
func (g *Gateway) sweep() {
	ticker := time.NewTicker(max(g.config.ContainerIdle/sweepsPerIdle, minInterval))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			g.sweepOnce()
		case <-g.ending:
			return
		}
	}
}

func (g *Gateway) sweepOnce() {
	defer func() {
		if value := recover(); value != nil {
			g.panicked(panicSweep, value, debug.Stack())
		}
	}()
	g.mux.Sweep()
}
