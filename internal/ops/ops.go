package ops

import (
	"log/slog"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

// Config is what an Ops is made of. All of it is read once, by New.
type Config struct {
	Version  string // of this build, for gateway_build_info
	Revision string

	// The closed sets of label values that the observer methods are called with. A value outside its set is counted
	// under "other", so that a set that fell behind shows, and nothing is lost.
	Refusals map[string][]string // reasons by listener
	Paths    []string            // of sockets
	Unheard  []string            // why a notification reached nobody
	Panics   []string            // where a panic was caught

	// Limits are all there are. Used, called at each scrape, is how far each is used up, by its name; nil: not at all.
	Limits []Limit
	Used   func() map[string]int64

	Mux     func() mux.Stats // called at each scrape; nil: no such metrics
	Streams *stream.Counters // read at each scrape; nil: no such metrics

	// MemoryShort, called at each scrape, says whether new work is refused for want of memory; nil: never.
	MemoryShort  func() bool
	Files        []Files                     // keys and certificates that are watched
	Certificates map[string]func() time.Time // when those that a listener sends expire, by listener

	Logger *slog.Logger // nil: slog.Default()
}

// Ops is the ops listener and the observer of all other rooms. Its methods are safe for concurrent use.
type Ops struct {
	registry *prometheus.Registry
	log      *slog.Logger

	exchanges exchangeMetrics
	refusals  pairs
	alarms    map[string]*alarm // by the name of a limit; never written after New
	sockets   socketMetrics
	panics    singles
	unheard   singles
	ready     readiness
	server    server
}

// other is the label value of what is outside its closed set.
const other = "other"

// New registers every metric there is. It panics when two have one name, which is a mistake in this package.
func New(config Config) *Ops {
	o := &Ops{registry: prometheus.NewRegistry(), log: config.Logger}
	if o.log == nil {
		o.log = slog.Default()
	}
	o.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newBuildInfo(config.Version, config.Revision),
	)
	o.exchanges.register(o.registry)
	o.refusals = newPairs(o.registry, prometheus.CounterOpts{
		Name: "gateway_refusals_total",
		Help: "Requests refused before they reached a container, by listener and reason.",
	}, "listener", "reason", withOwn(config.Refusals))
	o.alarms = newAlarms(config.Limits)
	o.registry.MustRegister(&limitCollector{config.Limits, config.Used})
	o.sockets.register(o.registry, config.Paths)
	o.panics = newSingles(o.registry, prometheus.CounterOpts{
		Name: "gateway_panics_total",
		Help: "Panics that were caught, by the place that caught them. Each is logged with its stack.",
	}, "where", append([]string{panicOps}, config.Panics...))
	o.unheard = newSingles(o.registry, prometheus.CounterOpts{
		Name: "gateway_notifications_unheard_total",
		Help: "Notifications that reached no client, by reason.",
	}, "reason", config.Unheard)
	o.ready.register(o.registry)
	if config.Mux != nil {
		o.registry.MustRegister(newMuxCollector(config.Mux))
	}
	if config.Streams != nil {
		o.registry.MustRegister(newStreamCollector(config.Streams))
	}
	o.registry.MustRegister(newFileCollector(config.Files, config.Certificates))
	o.registry.MustRegister(memoryShort(config.MemoryShort))
	o.server.init(o)
	return o
}

// Refused counts a request that a listener refused before it reached a container. Where the reason is a limit that has not
// refused anything for a while, the log warns of it.
func (o *Ops) Refused(listener, reason string) {
	o.refusals.inc(listener, reason)
	if a := o.alarms[reason]; a != nil && a.begins(time.Now()) {
		o.log.Warn("a limit is reached, and what is beyond it is refused", "limit", "--"+a.limit.Name, "value", a.limit.Most, "listener", listener)
	}
}

// MadeRoom says that what does nothing was given up early for a limit. The log warns of it where that is news.
func (o *Ops) MadeRoom(limit string) {
	if a := o.alarms[limit]; a != nil && a.makesRoom(time.Now()) {
		o.log.Warn("a limit is reached, and what does nothing makes room", "limit", "--"+a.limit.Name, "value", a.limit.Most)
	}
}

// Unheard counts a notification that reached no client.
func (o *Ops) Unheard(reason string) { o.unheard.inc(reason) }

// Panicked counts a panic that was caught.
func (o *Ops) Panicked(where string) { o.panics.inc(where) }

// withOwn adds this room's own listener to the reasons of the others.
func withOwn(refusals map[string][]string) map[string][]string {
	all := maps.Clone(refusals)
	if all == nil {
		all = make(map[string][]string)
	}
	all[listener] = []string{reasonPath, reasonMethod}
	return all
}
