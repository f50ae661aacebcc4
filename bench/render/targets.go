//go:build linux

package render

import (
	"fmt"
	"math"

	"github.com/diverge-network/gateway/bench/suite"
)

// targets is what was aimed at, and what was found.
func targets(r *suite.Results) string {
	t := table{{"figure", "target", "measured", "met"}}
	add := func(figure, target, measured string, met bool) {
		verdict := "**no**"
		if met {
			verdict = "yes"
		}
		t.add(figure, target, measured, verdict)
	}
	atLeast := func(figure string, want float64, got suite.Ratio) {
		add(figure, fmt.Sprintf("≥ %.2f", want), short(got), got.Median >= want)
	}
	atMost := func(figure, unit string, want, got float64) {
		add(figure, fmt.Sprintf("≤ %.4g%s", want, unit), digits(got)+unit, got <= want)
	}
	if m := r.Micro; m != nil {
		allocs := 0.0
		for _, o := range m.Operations {
			if len(o.Name) > 10 && o.Name[:10] == "Operation/" {
				allocs += o.Allocs
			}
		}
		atMost("codec: allocations of all operations together", "", 0, allocs)
		atMost("codec: encoding 4 KB ÷ copying them", "", 1.5, m.Of(suite.OpEncode).NS/m.Of(suite.OpCopy).NS)
	}
	if e := r.Exchange; e != nil {
		exchangeTargets(r, e, atLeast, atMost)
	}
	if l := r.Latency; l != nil {
		atMost("inside the gateway at half load, p50, beyond two bare POSTs", " µs", 30, l.HalfBeyond().Median)
		atMost("inside the gateway at half load, p99, kernel and wake-ups included", " µs", 500, l.Half.Median(suite.InsideP99))
		atMost("one caller: exchange beyond two bare round trips, p50", " µs", 60, l.Beyond().Median)
	}
	if b := r.Big; b != nil {
		atLeast("1 MiB result ÷ floor", 0.7, suite.Over(b.Gateway, b.Floor(), suite.Rate))
		for _, p := range b.Peaks {
			atMost(fmt.Sprintf("peak memory of 1 MiB exchanges ÷ their size, %d at once", p.AtOnce), "", 2.5, float64(p.Bytes)/float64(b.Size))
		}
	}
	if i := r.Idle; i != nil {
		for _, name := range []string{suite.IdleSocket, suite.IdleStream} {
			atMost("idle "+name, " KB", 3.0, float64(i.Of(name).Sum())/1000)
		}
		atMost("idle "+suite.IdleContainer, " KB", 9.5, float64(i.Of(suite.IdleContainer).Sum())/1000)
	}
	if f := r.FanOut; f != nil {
		for _, s := range f.Sizes {
			if s.Streams == 1000 && s.Window == 1 {
				atLeast("fan-out to 1,000 streams ÷ bare write loop", 0.95, suite.Over(s.Gateway, s.Loop, suite.Rate))
				if s.Centrifugo != nil {
					atLeast("fan-out to 1,000 streams ÷ Centrifugo", 1.5, suite.Over(s.Gateway, s.Centrifugo, suite.Rate))
				}
				// What pools lose to collections is a fraction of one.
				add("allocations per notification for 1,000 streams", "1", digits(s.PerNotification), math.Round(s.PerNotification) <= 1)
			}
		}
	}
	if s := r.Stalled; s != nil {
		atMost("a tenth of the streams stalled: the others' p99 delay ÷ none stalled", "", 1.2, s.Slower().Median)
	}
	if g := r.Growth; g != nil && len(g.Sizes) > 0 {
		last := g.Sizes[len(g.Sizes)-1]
		atMost(fmt.Sprintf("cost of an exchange, %s ÷ 10 containers", separated(int64(last.Containers))), "", 1.1, suite.Over(last.Exchange, last.ExchangeFew, suite.CPU).Median)
	}
	if s := r.Start; s != nil {
		atMost("start to first exchange", " ms", 50, suite.Median(s.Exchange))
	}
	return t.String()
}

// digits is a number in a few digits, without an exponent.
func digits(v float64) string {
	if v >= 100 {
		return count(v)
	}
	return fmt.Sprintf("%.3g", v)
}

func exchangeTargets(r *suite.Results, e *suite.Exchange, atLeast func(string, float64, suite.Ratio), atMost func(string, string, float64, float64)) {
	atLeast("exchange ÷ combined floor, 1 container", 0.9, suite.Over(e.Gateway1, e.Floor(), suite.Rate))
	atLeast("exchange ÷ combined floor, 16 containers", 0.9, suite.Over(e.Gateway16, e.Floor(), suite.Rate))
	atLeast("exchange ÷ Go SDK's server with sessions (stub provider)", 2, suite.Over(e.Gateway1, e.SDKSessions, suite.Rate))
	if r.Peers != nil {
		for _, name := range []string{suite.FrontSupergateway, suite.FrontMCPProxy} {
			if f := r.Peers.Of(name, suite.UpstreamStub); f != nil {
				atLeast("exchange (stub provider) ÷ "+name, 10, suite.Over(r.Peers.Gateway, f.Many, suite.Rate))
			}
		}
	}
	atMost("allocations in the gateway per exchange", "", 12, max(e.Gateway1.Median(suite.Allocs), e.Gateway16.Median(suite.Allocs)))
}
