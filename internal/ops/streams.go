package ops

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/diverge-network/gateway/pkg/stream"
)

// streamCollector reads the counters that all event streams share, at each scrape.
type streamCollector struct {
	counters *stream.Counters
	readings []reading[stream.Counters]
	dropped  *prometheus.Desc
	closed   *prometheus.Desc
}

func newStreamCollector(counters *stream.Counters) *streamCollector {
	return &streamCollector{
		counters: counters,
		readings: []reading[stream.Counters]{
			gauge("gateway_streams_open",
				"Event streams of MCP clients open now.",
				func(c *stream.Counters) int64 { return c.Streams.Load() }),
			gauge("gateway_notifications_queued",
				"Messages that wait on event streams now, once per stream.",
				func(c *stream.Counters) int64 { return c.Queued.Load() }),
			gauge("gateway_notifications_queued_bytes",
				"Size of the messages that wait on event streams now.",
				func(c *stream.Counters) int64 { return c.QueuedBytes.Load() }),
			counter("gateway_notifications_sent_total",
				"Messages written to event streams, notifications and keep-alive comments alike, once per stream.",
				func(c *stream.Counters) int64 { return int64(c.Sent.Load()) }),
			counter("gateway_notifications_coalesced_total",
				"Messages that added nothing to the same one, which was still queued.",
				func(c *stream.Counters) int64 { return int64(c.Coalesced.Load()) }),
		},
		dropped: prometheus.NewDesc("gateway_notifications_dropped_total",
			"Messages that an event stream was given and did not send, by reason.",
			[]string{"reason"}, nil),
		closed: prometheus.NewDesc("gateway_streams_closed_total",
			"Event streams that were closed, by reason.",
			[]string{"reason"}, nil),
	}
}

func (c *streamCollector) Describe(out chan<- *prometheus.Desc) {
	for i := range c.readings {
		out <- c.readings[i].desc
	}
	out <- c.dropped
	out <- c.closed
}

func (c *streamCollector) Collect(out chan<- prometheus.Metric) {
	for i := range c.readings {
		c.readings[i].collect(c.counters, out)
	}
	for r := range c.counters.Dropped {
		labelled(out, c.dropped, prometheus.CounterValue, int64(c.counters.Dropped[r].Load()), stream.DropReason(r).String())
	}
	for r := range c.counters.Closed {
		labelled(out, c.closed, prometheus.CounterValue, int64(c.counters.Closed[r].Load()), stream.CloseReason(r).String())
	}
}
