package main

import (
	"fmt"
	"math"
	"time"
)

// latency is a histogram of durations, with 5 % between its buckets, from 50 µs to some hours.
type latency struct {
	buckets [400]int
	count   int
	most    time.Duration
}

const (
	shortest = 50 * time.Microsecond
	step     = 1.05
)

func (l *latency) add(d time.Duration) {
	i := 0
	if d > shortest {
		i = min(int(math.Ceil(math.Log(float64(d)/float64(shortest))/math.Log(step))), len(l.buckets)-1)
	}
	l.buckets[i]++
	l.count++
	l.most = max(l.most, d)
}

// quantile is the upper bound of the bucket that q of all durations do not exceed.
func (l *latency) quantile(q float64) time.Duration {
	rank := int(math.Ceil(q * float64(l.count)))
	for i, n := range l.buckets {
		if rank -= n; rank <= 0 && l.count > 0 {
			return min(time.Duration(float64(shortest)*math.Pow(step, float64(i))), l.most)
		}
	}
	return l.most
}

// quantiles is what is reported of a latency.
type quantiles struct {
	Count          int
	P50, P99, Most time.Duration
}

func (l *latency) quantiles() quantiles {
	return quantiles{Count: l.count, P50: l.quantile(0.50), P99: l.quantile(0.99), Most: l.most}
}

func (q quantiles) String() string {
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v  p99 %v  most %v  (%d calls)", round(q.P50), round(q.P99), round(q.Most), q.Count)
}
