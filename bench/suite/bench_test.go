//go:build linux

package suite

import (
	"fmt"
	"testing"

	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
	"github.com/diverge-network/gateway/bench/wire"
)

// does has a crew do b.N pieces of work, and reports them; mallocs may be nil.
func does(b *testing.B, crew *load.Crew, unit, allocated string, each float64, mallocs func() (float64, error)) {
	b.Helper()
	e := entrant{mallocs: mallocs}
	var before, after float64
	b.ResetTimer()
	m, err := crew.Do(int64(b.N), func(begins bool) (err error) {
		if begins {
			before, err = e.allocated(true)
			return err
		}
		after, err = e.allocated(false)
		return err
	})
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(m.Rate(), unit)
	b.ReportMetric(micros(m.Latency[0]), "p50-us")
	b.ReportMetric(micros(m.Latency[2]), "p99-us")
	if mallocs != nil && m.Done >= 1000 { // fewer are lost in what else is allocated
		b.ReportMetric((after-before)/float64(m.Done)*each, allocated)
	}
}

// BenchmarkExchange is a tools/call of 256 B at a time from each of 64 callers through the whole gateway.
func BenchmarkExchange(b *testing.B) {
	for _, containers := range []int{1, 16} {
		b.Run(fmt.Sprintf("containers=%d", containers), func(b *testing.B) {
			var s stage
			defer s.close()
			g := s.gateway("")
			crew := s.exchanges(g.Addresses, "bench", containers, callers, floor.Result, false)
			if s.err != nil {
				b.Fatal(s.err)
			}
			does(b, crew, "exchanges/s", "allocs/exchange", 1, g.Mallocs)
		})
	}
}

// BenchmarkFloor is what an exchange consists of, bare.
func BenchmarkFloor(b *testing.B) {
	for _, of := range []struct {
		name string
		crew func(s *stage, f string, plain string) *load.Crew
	}{
		{"post/fasthttp", func(s *stage, fast, _ string) *load.Crew {
			return s.crew(newPosts(fast, floor.PostPath, "", callers, false))
		}},
		{"post/plain", func(s *stage, _, plain string) *load.Crew {
			return s.crew(newPosts(plain, floor.PostPath, "", callers, false))
		}},
		{"upgrade-message-close/fasthttp", func(s *stage, fast, _ string) *load.Crew {
			return s.crew(newUpgrades(fast, floor.AnswerPath, floor.Result, callers))
		}},
		{"upgrade-message-close/plain", func(s *stage, _, plain string) *load.Crew {
			return s.crew(newUpgrades(plain, floor.AnswerPath, floor.Result, callers))
		}},
		{"frame", func(s *stage, _, plain string) *load.Crew {
			crew := s.crew(load.NewCrew(loops))
			if s.err == nil {
				s.err = addFrames(crew, plain, loops, frameSize)
			}
			return crew
		}},
	} {
		b.Run(of.name, func(b *testing.B) {
			var s stage
			defer s.close()
			f := s.role("floor")
			if s.err != nil {
				b.Fatal(s.err)
			}
			crew := of.crew(&s, f.Post, f.Plain)
			if s.err != nil {
				b.Fatal(s.err)
			}
			does(b, crew, "done/s", "", 0, nil)
		})
	}
}

// BenchmarkFanOut is one notification after the other, each to so many event streams; beside it the bare loop.
func BenchmarkFanOut(b *testing.B) {
	for _, streams := range []int{1, 10, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("streams=%d/gateway", streams), func(b *testing.B) {
			var s stage
			defer s.close()
			g := s.gateway("")
			if s.err != nil {
				b.Fatal(s.err)
			}
			h, err := gatewayHub(g.Addresses, "bench", 1, streams, 0)
			if h != nil {
				defer h.close()
			}
			if err != nil {
				b.Fatal(err)
			}
			does(b, h.Crew, "delivered/s", "allocs/notification", float64(streams), g.Mallocs)
			if err := dropped(g.Ops); err != nil {
				b.Fatal(err)
			}
		})
		b.Run(fmt.Sprintf("streams=%d/loop", streams), func(b *testing.B) {
			var s stage
			defer s.close()
			f := s.role("floor")
			if s.err != nil {
				b.Fatal(s.err)
			}
			h, _, err := floorHub(f.Addresses, 1, streams, "")
			if h != nil {
				defer h.close()
			}
			if err != nil {
				b.Fatal(err)
			}
			does(b, h.Crew, "delivered/s", "", 0, nil)
		})
	}
}

// BenchmarkChurn is connections that come and go.
func BenchmarkChurn(b *testing.B) {
	for _, of := range []struct {
		name string
		crew func(s *stage, outside, inside string) *load.Crew
	}{
		{"requests", func(s *stage, outside, _ string) *load.Crew {
			return s.churn(outside, wire.AppendClose(nil), func(i int) []byte { return wire.Upgrade(fmt.Sprintf("/containers/churn-%d/requests", i)) }, nil)
		}},
		{"sessions", func(s *stage, _, inside string) *load.Crew {
			return s.churn(inside, nil, func(i int) []byte { return wire.Post(endpoint(fmt.Sprintf("churn-%d", i)), "", wire.Initialize) }, wire.Whole)
		}},
	} {
		b.Run(of.name, func(b *testing.B) {
			var s stage
			defer s.close()
			g := s.gateway("")
			if s.err != nil {
				b.Fatal(s.err)
			}
			crew := of.crew(&s, g.Outside, g.Inside)
			if s.err != nil {
				b.Fatal(s.err)
			}
			does(b, crew, "connections/s", "allocs/connection", 1, g.Mallocs)
		})
	}
}

// BenchmarkIdle opens b.N things, or some hundred at least, and reports what each costs while it is idle.
func BenchmarkIdle(b *testing.B) {
	for _, of := range []struct {
		name, unit string
		open       opener
	}{
		{"socket", "B/socket", idleRequests},
		{"stream", "B/stream", idleStream},
		{"container", "B/container", idleContainer},
	} {
		b.Run(of.name, func(b *testing.B) {
			out := new(Idle)
			if err := out.measure("gateway", of.name, min(max(b.N, 500), 5000), of.open); err != nil {
				b.Fatal(err)
			}
			c := out.Costs[0]
			b.ReportMetric(float64(c.Sum()), of.unit)
			b.ReportMetric(float64(c.Heap), "heap-B")
			b.ReportMetric(float64(c.Stack), "stack-B")
			b.ReportMetric(float64(c.RSS), "RSS-B")
		})
	}
}
