package load

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Histogram counts durations in buckets of about 3 %. One goroutine records, and any may read.
type Histogram struct {
	buckets [(64 - subBits) << subBits]atomic.Int64
}

const subBits = 5

// Record counts a duration in nanoseconds.
func (h *Histogram) Record(ns int64) {
	b := &h.buckets[bucketOf(uint64(max(ns, 0)))]
	b.Store(b.Load() + 1) // of one writer
}

func bucketOf(v uint64) int {
	e := max(0, bits.Len64(v)-subBits-1)
	return e<<subBits + int(v>>e)
}

// value is the middle of a bucket.
func value(bucket int) int64 {
	if bucket < 2<<subBits {
		return int64(bucket)
	}
	e := bucket>>subBits - 1
	low := int64(bucket-e<<subBits) << e
	return low + 1<<e/2
}

// Reset forgets everything.
func (h *Histogram) Reset() {
	for i := range h.buckets {
		h.buckets[i].Store(0)
	}
}

// Quantiles are the durations below which so many of all were: 0.5 is the median. They are 0 where nothing was recorded.
func Quantiles(all []*Histogram, qs ...float64) []time.Duration {
	var merged [(64 - subBits) << subBits]int64
	total := int64(0)
	for _, h := range all {
		for i := range h.buckets {
			n := h.buckets[i].Load()
			merged[i] += n
			total += n
		}
	}
	out := make([]time.Duration, len(qs))
	for i, q := range qs {
		want, seen := int64(q*float64(total)), int64(0)
		for b, n := range merged {
			if seen += n; n > 0 && seen > want {
				out[i] = time.Duration(value(b))
				break
			}
			if n > 0 {
				out[i] = time.Duration(value(b))
			}
		}
	}
	return out
}
