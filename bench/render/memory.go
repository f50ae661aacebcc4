//go:build linux

package render

import (
	"fmt"
	"strings"

	"github.com/diverge-network/gateway/bench/suite"
)

func idle(r *suite.Results) string {
	if r.Idle == nil {
		return ""
	}
	t := table{{"bytes for each, idle after traffic", "heap", "stack", "heap + stack", "RSS"}}
	for _, c := range r.Idle.Costs {
		t.add(c.Name, separated(c.Heap), separated(c.Stack), "**"+kb(c.Sum())+"**", kb(c.RSS))
	}
	return t.String() + fmt.Sprintf("\nEach of %s, in a process of its own, after a collection.\n\n![Idle memory](performance/idle.svg)\n", separated(int64(r.Idle.Costs[0].Count)))
}

func growth(r *suite.Results) string {
	if r.Growth == nil {
		return ""
	}
	t := table{{"containers", "exchanges/s", "p99", "CPU each", "CPU ÷ 10 containers", "rate ÷ 10 containers", "notifications/s", "CPU ÷ 10 containers", "a bare loop's", "idle, heap + stack", "RSS"}}
	for _, s := range r.Growth.Sizes {
		t.add(separated(int64(s.Containers)), count(s.Exchange.Median(suite.Rate)), micros(s.Exchange.Median(suite.P99)), micros(s.Exchange.Median(suite.CPU)),
			ratio(suite.Over(s.Exchange, s.ExchangeFew, suite.CPU)), short(suite.Over(s.Exchange, s.ExchangeFew, suite.Rate)),
			count(s.Notify.Median(suite.Rate)), short(suite.Over(s.Notify, s.NotifyFew, suite.CPU)), bare(s), each(s, s.Cost.Sum()), each(s, s.Cost.RSS))
	}
	return t.String() + "\n![Growth](performance/growth.svg)\n"
}

// bare is how much more processor time a notification of a bare loop takes; of results from before that was measured, nothing.
func bare(s suite.GrowthSize) string {
	if s.Bare == nil {
		return "–"
	}
	return short(suite.Over(s.Bare, s.BareFew, suite.CPU))
}

// each is bytes of one container, where there are enough of them that the process itself does not count.
func each(s suite.GrowthSize, n int64) string {
	if s.Containers < 1000 {
		return "–"
	}
	return kb(n)
}

func inMemory(r *suite.Results) string {
	if r.Growth == nil || len(r.Growth.InMemory) == 0 {
		return ""
	}
	t := table{{"containers, in memory", "heap each", "stack each", "of that, connections and goroutines", "left: the gateway's state", "one exchange, alone"}}
	for _, m := range r.Growth.InMemory {
		t.add(separated(int64(m.Containers)), kb(m.Heap), kb(m.Stack), kb(m.Conns), "**"+kb(m.Heap+m.Stack-m.Conns)+"**", micros(float64(m.Exchange.Nanoseconds())/1e3))
	}
	return t.String()
}

func micro(r *suite.Results) string {
	m := r.Micro
	if m == nil {
		return ""
	}
	t := table{{"codec operation", "time", "MB/s", "allocations"}}
	for _, o := range m.Operations {
		if name, ok := strings.CutPrefix(o.Name, "Operation/"); ok {
			t.add("`"+name+"`", nanos(o.NS), count(o.MB), fmt.Sprintf("%.0f", o.Allocs))
		}
	}
	for _, name := range []string{suite.OpCopy, suite.OpEncode, suite.OpEvent} {
		if o := m.Of(name); o.NS > 0 {
			t.add(strings.TrimPrefix(name, "Encode/"), nanos(o.NS), count(o.MB), fmt.Sprintf("%.0f", o.Allocs))
		}
	}
	tables := table{{"channel table: one exchange's part, two goroutines", "xsync", "sync.Map", "map + RWMutex"}}
	for _, containers := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		cells := []string{plural(containers, "container")}
		for _, kind := range []string{"xsync", "sync.Map", "map+RWMutex"} {
			o := m.Of(fmt.Sprintf("Table/containers=%d/%s/exchange", containers, kind))
			cells = append(cells, fmt.Sprintf("%s, %.0f allocations", nanos(o.NS), o.Allocs))
		}
		tables.add(cells...)
	}
	return t.String() + "\n" + tables.String()
}

func nanos(ns float64) string {
	if ns < 1000 {
		return count(ns) + " ns"
	}
	return micros(ns / 1000)
}
