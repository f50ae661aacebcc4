package ops

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// readiness is what /readyz answers. A gateway is not ready before all its listeners are open, nor once it began to stop.
type readiness struct{ ready atomic.Bool }

func (r *readiness) register(reg prometheus.Registerer) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gateway_ready",
		Help: "1 while /readyz answers 200, 0 while it answers 503.",
	}, func() float64 {
		if r.ready.Load() {
			return 1
		}
		return 0
	}))
}

// SetReady says what /readyz answers from now on: 200 or 503. It starts at 503.
func (o *Ops) SetReady(ready bool) { o.ready.ready.Store(ready) }
