//go:build !race

package stream

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkFanOut is the cost of a hub alone: the connections cost nothing.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			counters := new(Counters)
			h := NewHub(&Config{Counters: counters})
			for range n {
				h.Open(ready{}, nil)
			}
			m := lossy("notification")
			b.ReportAllocs()
			for b.Loop() {
				h.Publish(m)
			}
			for counters.Queued.Load() != 0 {
				runtime.Gosched()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/stream")
			h.Close(CloseShutdown)
		})
	}
}

// BenchmarkFanOutFull is the cost of streams that take nothing and whose queues
// are full: each publication pushes the oldest out.
func BenchmarkFanOutFull(b *testing.B) {
	const n = 100
	h := NewHub(&Config{Counters: new(Counters)})
	for range n {
		h.Open(newGate(0), nil)
	}
	m := lossy("notification")
	for range DefaultMessages {
		h.Publish(m)
	}
	for b.Loop() {
		h.Publish(m)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/stream")
	h.Close(CloseShutdown)
}

func BenchmarkOpenClose(b *testing.B) {
	h := NewHub(&Config{Counters: new(Counters)})
	for range 100 {
		h.Open(ready{}, nil)
	}
	for b.Loop() {
		h.Open(ready{}, nil).Close(CloseLeft)
	}
	h.Close(CloseShutdown)
}
