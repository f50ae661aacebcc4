package ops

import "github.com/prometheus/client_golang/prometheus"

// socketMetrics follow the WebSockets that a provider's servers hold open, and their lists of containers.
type socketMetrics struct {
	open   map[string]prometheus.Gauge // never written after register
	opened singles
	rest   prometheus.Gauge
}

func (m *socketMetrics) register(r prometheus.Registerer, paths []string) {
	open := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gateway_sockets_open",
		Help: "WebSockets and lists of containers open now on the outside listener, by path.",
	}, []string{"path"})
	r.MustRegister(open)
	m.open = make(map[string]prometheus.Gauge, len(paths))
	m.rest = open.WithLabelValues(other)
	for _, path := range paths {
		m.open[path] = open.WithLabelValues(path)
	}
	m.opened = newSingles(r, prometheus.CounterOpts{
		Name: "gateway_sockets_opened_total",
		Help: "WebSockets and lists of containers that were opened on the outside listener, by path.",
	}, "path", paths)
}

func (m *socketMetrics) gauge(path string) prometheus.Gauge {
	if g, ok := m.open[path]; ok {
		return g
	}
	return m.rest
}

// SocketOpened counts a WebSocket whose upgrade was accepted, or a list of containers. path is "requests", "containers" or a
// kind's name.
func (o *Ops) SocketOpened(path string) {
	o.sockets.opened.inc(path)
	o.sockets.gauge(path).Inc()
}

// SocketClosed takes back what SocketOpened counted, once per socket.
func (o *Ops) SocketClosed(path string) { o.sockets.gauge(path).Dec() }
