package main

import (
	"testing"
	"time"
)

func TestQuantilesAreWithinAStep(t *testing.T) {
	var l latency
	if got := l.quantiles(); got != (quantiles{}) {
		t.Errorf("of nothing: %+v", got)
	}
	for ms := 1; ms <= 1000; ms++ {
		l.add(time.Duration(ms) * time.Millisecond)
	}
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0.001, time.Millisecond}, {0.5, 500 * time.Millisecond}, {0.99, 990 * time.Millisecond}, {1, time.Second}} {
		if got := l.quantile(c.q); got < c.want || float64(got) > float64(c.want)*step {
			t.Errorf("quantile %v is %v, want %v", c.q, got, c.want)
		}
	}
	l.add(0)
	l.add(1000 * time.Hour)
	if got := l.quantiles(); got.Most != 1000*time.Hour || got.Count != 1002 {
		t.Errorf("%+v", got)
	}
}
