package ops

import "github.com/prometheus/client_golang/prometheus"

// Limit is one that the gateway keeps to, as it is to be watched. Its functions are
// called at each scrape.
type Limit struct {
	Name string         // a word
	Most func() float64 // what is allowed
	Used func() float64 // how much of that is in use; nil where nothing is
	Hits func() uint64  // how often something was refused, or ended, for it
}

// limitCollector reads the limits at each scrape.
type limitCollector struct {
	limits []Limit
	short  func() bool

	most, used, hits, memory *prometheus.Desc
}

func newLimitCollector(limits []Limit, short func() bool) *limitCollector {
	label := []string{"limit"}
	return &limitCollector{
		limits: limits,
		short:  short,
		most:   prometheus.NewDesc("gateway_limit", "What is allowed, by limit; 0 is anything.", label, nil),
		used:   prometheus.NewDesc("gateway_limit_used", "How much of a limit is in use now.", label, nil),
		hits:   prometheus.NewDesc("gateway_limit_hits_total", "What was refused, or ended, because a limit was reached.", label, nil),
		memory: prometheus.NewDesc("gateway_memory_short", "1 while nothing new is begun for want of memory.", nil, nil),
	}
}

func (c *limitCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.most
	out <- c.used
	out <- c.hits
	out <- c.memory
}

func (c *limitCollector) Collect(out chan<- prometheus.Metric) {
	for _, l := range c.limits {
		out <- prometheus.MustNewConstMetric(c.most, prometheus.GaugeValue, l.Most(), l.Name)
		if l.Used != nil {
			out <- prometheus.MustNewConstMetric(c.used, prometheus.GaugeValue, l.Used(), l.Name)
		}
		out <- prometheus.MustNewConstMetric(c.hits, prometheus.CounterValue, float64(l.Hits()), l.Name)
	}
	short := 0.0
	if c.short != nil && c.short() {
		short = 1
	}
	out <- prometheus.MustNewConstMetric(c.memory, prometheus.GaugeValue, short)
}
