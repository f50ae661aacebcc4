package ops

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Limit is one of the limits, by the name that its flag has without the dashes. What it refuses has it for a reason.
type Limit struct {
	Name string
	Most int64
}

// limitCollector shows the limits, and at each scrape how far they are used up.
type limitCollector struct {
	limits []Limit
	used   func() map[string]int64
}

var (
	limitDesc = prometheus.NewDesc("gateway_limit",
		"The limits as they are set, by the name of their flag.",
		[]string{"limit"}, nil)
	limitUsedDesc = prometheus.NewDesc("gateway_limit_used",
		"How much of each limit is used now; of a limit per container, by the container that uses most.",
		[]string{"limit"}, nil)
)

// Describe implements prometheus.Collector.
func (c *limitCollector) Describe(out chan<- *prometheus.Desc) {
	out <- limitDesc
	out <- limitUsedDesc
}

// Collect implements prometheus.Collector.
func (c *limitCollector) Collect(out chan<- prometheus.Metric) {
	var used map[string]int64
	if c.used != nil {
		used = c.used()
	}
	for _, l := range c.limits {
		labelled(out, limitDesc, prometheus.GaugeValue, l.Most, l.Name)
		labelled(out, limitUsedDesc, prometheus.GaugeValue, used[l.Name], l.Name)
	}
}

// quiet is after how long without a refusal a limit that refuses again is news.
const quiet = time.Minute

// alarm tells when a limit begins to refuse.
type alarm struct {
	limit Limit
	last  atomic.Int64 // refusal, in Unix nanoseconds; 0: none yet
}

func newAlarms(limits []Limit) map[string]*alarm {
	alarms := make(map[string]*alarm, len(limits))
	for _, l := range limits {
		alarms[l.Name] = &alarm{limit: l}
	}
	return alarms
}

// begins takes note of a refusal, and reports whether it is the first after a quiet time.
func (a *alarm) begins(now time.Time) bool {
	last := a.last.Swap(now.UnixNano())
	return last == 0 || now.Sub(time.Unix(0, last)) >= quiet
}
