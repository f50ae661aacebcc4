package ops

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/diverge-network/gateway/pkg/codec"
)

// durationBuckets are the classic buckets in seconds: most exchanges are an upstream's milliseconds, and the protocol sets
// no time-out, so the last ones are for tools that work for minutes.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

// exchangeMetrics measure what MCP clients asked; how many ended and how is what package mux counts. Kind 4 is asked by the
// gateway itself and has no place here.
type exchangeMetrics struct {
	seconds [codec.KindCount]prometheus.Observer // nil for kind 4
}

func (m *exchangeMetrics) register(r prometheus.Registerer) {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "gateway_exchange_seconds",
		Help:    "Time from a client's request to the end of its exchange, by kind.",
		Buckets: durationBuckets,
		// Native: at most 10 % between neighbouring buckets. The two limits bound the memory of one series.
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"kind"})
	r.MustRegister(seconds)
	for k := range codec.Kind(codec.KindCount) {
		if !k.Many() {
			m.seconds[k] = seconds.WithLabelValues(k.Name())
		}
	}
}

// Exchange measures one exchange of kinds 0 to 3 that ended d after its request arrived. The outcome is not needed here.
func (o *Ops) Exchange(k codec.Kind, _ string, d time.Duration) {
	o.exchanges.seconds[k].Observe(d.Seconds())
}
