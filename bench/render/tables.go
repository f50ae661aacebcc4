//go:build linux

package render

import (
	"fmt"
	"strings"

	"github.com/diverge-network/gateway/bench/suite"
)

func machine(r *suite.Results) string {
	m := r.Machine
	plan := ""
	if r.Plan.Short {
		plan = " This was a short run: read nothing into small differences."
	}
	return fmt.Sprintf("Measured %s on %s, %d cores, %.0f GB of memory, %s, %s; revision %s; load average at the beginning %.1f. "+
		"`%s` took %v.%s", r.Date, m.CPU, m.Cores, float64(m.Memory)/1e9, m.Kernel, m.Go, r.Commit, m.LoadAt, r.Command, r.Took, plan)
}

func skipped(r *suite.Results) string {
	if len(r.Skipped) == 0 {
		return "Nothing was skipped."
	}
	return "Not measured in this run:\n\n- " + strings.Join(r.Skipped, "\n- ")
}

// row is the usual line of a series.
func row(t *table, name string, s *suite.Series, ratios ...string) {
	if s == nil {
		return
	}
	t.add(append([]string{name, count(s.Median(suite.Rate)), micros(s.Median(suite.P50)), micros(s.Median(suite.P99)), micros(s.Median(suite.CPU))}, ratios...)...)
}

func exchange(r *suite.Results) string {
	e := r.Exchange
	if e == nil {
		return ""
	}
	floor, fast := e.Floor(), e.FloorFast()
	t := table{{"", "per second", "p50", "p99", "CPU of the server", "÷ floor"}}
	row(&t, "**gateway, 1 container**", e.Gateway1, ratio(suite.Over(e.Gateway1, floor, suite.Rate)))
	row(&t, "**gateway, 16 containers**", e.Gateway16, ratio(suite.Over(e.Gateway16, floor, suite.Rate)))
	t.add("combined floor, the fastest ways", count(floor.Median(suite.Rate)), "", "", micros(floor.Median(suite.CPU)), "1")
	t.add("combined floor, fasthttp's ways", count(fast.Median(suite.Rate)), "", "", micros(fast.Median(suite.CPU)), short(suite.Over(fast, floor, suite.Rate)))
	row(&t, "· POST, fasthttp", e.PostFast, "")
	row(&t, "· POST, own loop", e.PostPlain, "")
	row(&t, "· connect, upgrade, message, Close: fasthttp", e.UpgradeFast, "")
	row(&t, "· connect, upgrade, message, Close: own loop", e.UpgradePlain, "")
	row(&t, "· the same, Close and FIN in one segment", e.UpgradeLast, "")
	t.add("· frame on an open socket", count(e.Frame.Median(suite.Rate)), "", "", micros(e.Frame.Median(suite.CPU)), "")
	row(&t, "Go SDK's server, sessions", e.SDKSessions, short(suite.Over(e.SDKSessions, floor, suite.Rate)))
	row(&t, "Go SDK's server, stateless", e.SDKStateless, short(suite.Over(e.SDKStateless, floor, suite.Rate)))
	return t.String() + fmt.Sprintf("\nAllocations in the gateway for each exchange: **%.1f** (1 container), **%.1f** (16). "+
		"Its processor time is %.2f of the floor's, or the other way round: the floor's ÷ the gateway's is **%s**. "+
		"Gateway ÷ fasthttp's floor: %s. Gateway ÷ Go SDK's server with sessions: %s, stateless: %s.\n\n![Exchanges a second](performance/exchange.svg)\n",
		e.Gateway1.Median(suite.Allocs), e.Gateway16.Median(suite.Allocs),
		suite.Over(e.Gateway1, floor, suite.CPU).Median, short(suite.Over(floor, e.Gateway1, suite.CPU)),
		ratio(suite.Over(e.Gateway1, fast, suite.Rate)), ratio(suite.Over(e.Gateway1, e.SDKSessions, suite.Rate)), ratio(suite.Over(e.Gateway1, e.SDKStateless, suite.Rate)))
}

func latency(r *suite.Results) string {
	l := r.Latency
	if l == nil {
		return ""
	}
	t := table{{"at half load", "rate", "p50", "p99"}}
	t.add("inside the gateway: both ways through the kernel, both wake-ups", count(l.HalfRate), micros(l.Half.Median(suite.InsideP50)), micros(l.Half.Median(suite.InsideP99)))
	t.add("inside a bare POST: one of each", count(l.HalfRate), micros(l.HalfPost.Median(suite.InsideP50)), micros(l.HalfPost.Median(suite.InsideP99)))
	if beyond := l.HalfBeyond(); beyond.Median > 0 {
		t.add("**inside the gateway beyond two bare POSTs**", count(l.HalfRate), fmt.Sprintf("**%.0f µs** (%.0f to %.0f)", beyond.Median, beyond.Low, beyond.High), "")
	}
	t.add("a whole exchange, as its client sees it", count(l.HalfRate), micros(l.Half.Median(suite.P50)), micros(l.Half.Median(suite.P99)))
	alone := table{{"one caller alone", "p50", "p99"}}
	alone.add("exchange", micros(l.Alone.Median(suite.P50)), micros(l.Alone.Median(suite.P99)))
	alone.add("bare POST", micros(l.AlonePost.Median(suite.P50)), micros(l.AlonePost.Median(suite.P99)))
	alone.add("bare connect, upgrade, message, Close", micros(l.AloneUpgrade.Median(suite.P50)), micros(l.AloneUpgrade.Median(suite.P99)))
	b := l.Beyond()
	alone.add("**exchange beyond the two bare round trips**", fmt.Sprintf("**%.0f µs** (%.0f to %.0f)", b.Median, b.Low, b.High), "")
	return t.String() + "\n" + alone.String()
}

func big(r *suite.Results) string {
	b := r.Big
	if b == nil {
		return ""
	}
	t := table{{"results of 1 MiB", "per second", "MB/s", "CPU of the server", "gateway ÷"}}
	line := func(name string, s *suite.Series, of string) {
		t.add(name, count(s.Median(suite.Rate)), count(s.Median(suite.Rate)*float64(b.Size)/1e6), micros(s.Median(suite.CPU)), of)
	}
	line("**gateway**", b.Gateway, "")
	line("combined floor", b.Floor(), ratio(suite.Over(b.Gateway, b.Floor(), suite.Rate)))
	line("combined floor that checks the JSON (D2)", b.Checked(), ratio(suite.Over(b.Gateway, b.Checked(), suite.Rate)))
	line("· POST, fasthttp", b.PostFast, "")
	line("· POST, own loop", b.PostPlain, "")
	line("· connect, upgrade, message, Close: fasthttp", b.UpgradeFast, "")
	line("· connect, upgrade, message, Close: own loop", b.UpgradePlain, "")
	line("· the same, JSON checked", b.UpgradeChecked, "")
	text := t.String()
	for _, p := range b.Peaks {
		text += fmt.Sprintf("\nWith %d in flight at once a fresh gateway's resident memory grew, at its highest, by **%.1f** times the size of each.", p.AtOnce, float64(p.Bytes)/float64(b.Size))
	}
	return text
}

func fanOut(r *suite.Results) string {
	f := r.FanOut
	if f == nil {
		return ""
	}
	t := table{{"streams", "delivered/s", "p99 delay", "CPU each", "allocations per notification", "one loop/s", "÷ one loop", "batched loop/s", "two loops/s", "Centrifugo/s", "÷ Centrifugo"}}
	for _, s := range f.Sizes {
		name := separated(int64(s.Streams))
		if s.Window > 1 {
			name += fmt.Sprintf(", bursts of %d", s.Window)
		}
		t.add(name, "**"+rateOf(s.Gateway)+"**", micros(s.Gateway.Median(suite.P99)), micros(s.Gateway.Median(suite.CPU)),
			fmt.Sprintf("%.1f", s.PerNotification), rateOf(s.Loop), ratio(suite.Over(s.Gateway, s.Loop, suite.Rate)),
			rateOf(s.Batch), rateOf(s.Halves), rateOf(s.Centrifugo), ratio(suite.Over(s.Gateway, s.Centrifugo, suite.Rate)))
	}
	return t.String() + fmt.Sprintf("\nEvents of %d B. No notification was dropped, merged or out of order: any would have ended the run.\n\n![Fan-out](performance/fanout.svg)\n", f.Event)
}

// rateOf is a median rate; a series that was not measured has none.
func rateOf(s *suite.Series) string {
	if s == nil {
		return "–"
	}
	return count(s.Median(suite.Rate))
}

func stalled(r *suite.Results) string {
	s := r.Stalled
	if s == nil {
		return ""
	}
	t := table{{fmt.Sprintf("%s notifications a second to %s streams", count(s.Rate), separated(int64(s.Streams))), "p50 delay", "p99 delay"}}
	t.add("all are read", micros(s.None.Median(suite.P50)), micros(s.None.Median(suite.P99)))
	t.add(fmt.Sprintf("%d are never read: the others", s.Never), micros(s.Some.Median(suite.P50)), micros(s.Some.Median(suite.P99)))
	return t.String() + fmt.Sprintf("\nThe others' p99 is %s times that of none stalled. Until every queue was full the gateway's process had grown by %s; the queues may hold %s.",
		ratio(s.Slower()), mb(s.Grew), mb(s.Bound))
}

func start(r *suite.Results) string {
	if r.Start == nil {
		return ""
	}
	return fmt.Sprintf("From starting the program to the response of the first exchange: **%.1f ms** (median of %d); `gateway version`, which does nothing, takes %.1f ms.",
		suite.Median(r.Start.Exchange), len(r.Start.Exchange), suite.Median(r.Start.Bare))
}

func churn(r *suite.Results) string {
	c := r.Churn
	if c == nil {
		return ""
	}
	t := table{{"connections that come and go", "gateway/s", "bare/s", "ratio"}}
	t.add("`/requests`: connect, upgrade, Close", count(c.Requests.Median(suite.Rate)), count(c.Upgrades.Median(suite.Rate)), ratio(suite.Over(c.Requests, c.Upgrades, suite.Rate)))
	t.add("client: connect, initialize, leave", count(c.Sessions.Median(suite.Rate)), count(c.Posts.Median(suite.Rate)), ratio(suite.Over(c.Sessions, c.Posts, suite.Rate)))
	t.add("event stream: connect, GET, leave", count(c.Streams.Median(suite.Rate)), count(c.BareReads.Median(suite.Rate)), ratio(suite.Over(c.Streams, c.BareReads, suite.Rate)))
	return t.String()
}

func peers(r *suite.Results) string {
	if r.Peers == nil {
		return ""
	}
	t := table{{"in front of", "64 callers, per second", "p99", "CPU each, without the upstream", "1 caller, p50", "gateway + answer ÷"}}
	for _, f := range r.Peers.Fronts {
		versus := "1"
		if f.Name != suite.FrontGateway {
			versus = short(suite.Over(r.Peers.Of(suite.FrontGateway, f.Upstream).Many, f.Many, suite.Rate))
		}
		t.add(f.Upstream+": "+f.Name, count(f.Many.Median(suite.Rate)), micros(f.Many.Median(suite.P99)), micros(f.Many.Median(suite.CPU)), micros(f.Alone.Median(suite.P50)), versus)
	}
	t.add("Go SDK's server: directly", count(r.Peers.Direct.Median(suite.Rate)), micros(r.Peers.Direct.Median(suite.P99)), micros(r.Peers.Direct.Median(suite.CPU)), "", short(suite.Over(r.Peers.Behind, r.Peers.Direct, suite.Rate)))
	t.add("Go SDK's server: gateway serve + answer", count(r.Peers.Behind.Median(suite.Rate)), micros(r.Peers.Behind.Median(suite.P99)), micros(r.Peers.Behind.Median(suite.CPU)), "", "1")
	var versus []string
	for _, name := range []string{suite.FrontSupergateway, suite.FrontMCPProxy} {
		if f := r.Peers.Of(name, suite.UpstreamStub); f != nil {
			versus = append(versus, ratio(suite.Over(r.Peers.Gateway, f.Many, suite.Rate))+" times "+name)
		}
	}
	text := t.String()
	if len(versus) > 0 {
		text += fmt.Sprintf("\nThe gateway alone, with a provider's server that has its answers ready, makes in the same turns %s exchanges a second: %s.",
			count(r.Peers.Gateway.Median(suite.Rate)), strings.Join(versus, ", "))
	}
	return text
}
