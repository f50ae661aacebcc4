package load

import (
	"testing"
	"time"
)

func TestQuantilesAreWithinThreePercent(t *testing.T) {
	for _, scale := range []int64{1, 37, 1000, 123_457} {
		h := new(Histogram)
		for i := range int64(1000) {
			h.Record((i + 1) * scale)
		}
		got := Quantiles([]*Histogram{h}, 0.01, 0.5, 0.99, 1)
		for i, want := range []int64{10, 500, 990, 1000} {
			if w := want * scale; float64(got[i]) < 0.96*float64(w) || float64(got[i]) > 1.04*float64(w)+float64(scale) {
				t.Errorf("scale %d: quantile %d is %v, want about %v", scale, i, got[i], time.Duration(w))
			}
		}
	}
}

func TestQuantilesOfNothingAreZero(t *testing.T) {
	if got := Quantiles([]*Histogram{new(Histogram)}, 0.5); got[0] != 0 {
		t.Errorf("the median of nothing is %v", got[0])
	}
}

func TestEveryValueIsInABucketOfItsSize(t *testing.T) {
	for shift := range 60 {
		for _, v := range []int64{1 << shift, 1<<shift + 1, 3 << shift} {
			if got := value(bucketOf(uint64(v))); float64(got) < 0.95*float64(v) || float64(got) > 1.05*float64(v) {
				t.Errorf("%d is in the bucket of %d", v, got)
			}
		}
	}
}
