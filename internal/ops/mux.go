package ops

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// reading is one metric without labels that is read out of a snapshot.
type reading[S any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*S) int64
}

func gauge[S any](name, help string, read func(*S) int64) reading[S] {
	return reading[S]{prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, read}
}

func counter[S any](name, help string, read func(*S) int64) reading[S] {
	return reading[S]{prometheus.NewDesc(name, help, nil, nil), prometheus.CounterValue, read}
}

func (r *reading[S]) collect(s *S, out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(r.desc, r.kind, float64(r.read(s)))
}

// muxCollector reads one snapshot of the mux at each scrape. Stats.Unheard is not shown: every container has a listener
// here, which itself says whom it could not reach (Ops.Unheard).
type muxCollector struct {
	stats    func() mux.Stats
	readings []reading[mux.Stats]
	ended    *prometheus.Desc
	inFlight *prometheus.Desc
	resident *prometheus.Desc
	reasked  *prometheus.Desc
}

func newMuxCollector(stats func() mux.Stats) *muxCollector {
	return &muxCollector{
		stats: stats,
		readings: []reading[mux.Stats]{
			gauge("gateway_containers",
				"Containers that have begun and were not forgotten.",
				func(s *mux.Stats) int64 { return s.Containers }),
			gauge("gateway_containers_present",
				"Containers whose clients did something of late: those that GET /containers lists.",
				func(s *mux.Stats) int64 { return s.Present }),
			gauge("gateway_containers_connected",
				"Containers whose provider's server holds a live /requests connection.",
				func(s *mux.Stats) int64 { return s.Connected }),
			counter("gateway_containers_forgotten_early_total",
				"Containers that did nothing and were forgotten to make room for others, before --container-idle had passed.",
				func(s *mux.Stats) int64 { return s.ForgottenEarly }),
			gauge("gateway_asks_waiting",
				"Asks of clients that wait to be announced: no server is connected, or they wait to be asked again.",
				func(s *mux.Stats) int64 { return s.Waiting }),
			counter("gateway_answers_extra_messages_total",
				"Messages that came on an answer path after its first one, and were ignored.",
				func(s *mux.Stats) int64 { return s.ExtraMessages }),
			counter("gateway_answers_discarded_total",
				"Answers that were discarded because their path then ended abruptly.",
				func(s *mux.Stats) int64 { return s.DiscardedMessages }),
			counter("gateway_answers_dropped_total",
				"Answers that were dropped because their caller had gone.",
				func(s *mux.Stats) int64 { return s.DroppedAnswers }),
			counter("gateway_notifications_total",
				"Notifications that arrived from a provider's server and were handed to their container.",
				func(s *mux.Stats) int64 { return s.Notifications }),
			counter("gateway_notifications_undecodable_total",
				"Notifications that were dropped because they could not be decoded.",
				func(s *mux.Stats) int64 { return s.Undecodable }),
			counter("gateway_notifications_error_ends_total",
				"Notification paths that their server ended with an error message.",
				func(s *mux.Stats) int64 { return s.ErrorEnds }),
			counter("gateway_illegal_transitions_total",
				"Transitions of an ask that must not happen: each is a fault of the gateway.",
				func(s *mux.Stats) int64 { return s.Illegal }),
		},
		ended: prometheus.NewDesc("gateway_exchanges_total",
			"Exchanges that ended for their client, by kind and outcome.",
			[]string{"kind", "outcome"}, nil),
		inFlight: prometheus.NewDesc("gateway_asks_in_flight",
			"Asks of clients that a server has been told of: announced until their path opens, then open.",
			[]string{"state"}, nil),
		resident: prometheus.NewDesc("gateway_notification_asks",
			"The containers' notification asks, by state: waiting, announced or open.",
			[]string{"state"}, nil),
		reasked: prometheus.NewDesc("gateway_asks_reasked_total",
			"Asks that were asked again, by reason.",
			[]string{"reason"}, nil),
	}
}

func (c *muxCollector) Describe(out chan<- *prometheus.Desc) {
	for i := range c.readings {
		out <- c.readings[i].desc
	}
	out <- c.ended
	out <- c.inFlight
	out <- c.resident
	out <- c.reasked
}

func (c *muxCollector) Collect(out chan<- prometheus.Metric) {
	s := c.stats()
	for i := range c.readings {
		c.readings[i].collect(&s, out)
	}
	for k := range s.Settled {
		// The notifications ask has no client to end for.
		if codec.Kind(k).Many() {
			continue
		}
		for o, n := range s.Settled[k] {
			labelled(out, c.ended, prometheus.CounterValue, n, codec.Kind(k).Name(), mux.Outcome(o).String())
		}
	}
	labelled(out, c.inFlight, prometheus.GaugeValue, s.Announced, "announced")
	labelled(out, c.inFlight, prometheus.GaugeValue, s.Open, "open")
	labelled(out, c.resident, prometheus.GaugeValue, s.Resident.Waiting, "waiting")
	labelled(out, c.resident, prometheus.GaugeValue, s.Resident.Announced, "announced")
	labelled(out, c.resident, prometheus.GaugeValue, s.Resident.Open, "open")
	for r, n := range s.Reasked {
		labelled(out, c.reasked, prometheus.CounterValue, n, mux.Reason(r).String())
	}
}

func labelled(out chan<- prometheus.Metric, desc *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string) {
	out <- prometheus.MustNewConstMetric(desc, kind, float64(n), labels...)
}
