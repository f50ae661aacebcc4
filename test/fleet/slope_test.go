package main

import (
	"math"
	"testing"
	"time"
)

func TestALineIsFittedToTheSamplesFromATimeOn(t *testing.T) {
	var samples []sample
	for i := range 100 {
		level := int64(5000) // the warm-up does not count
		if i >= 50 {
			level = 1000 + int64(i-50)*2 + int64(i%2*2-1)*10
		}
		samples = append(samples, sample{at: time.Duration(i) * time.Second, gateway: usage{rss: level}})
	}
	rss := func(s sample) int64 { return s.gateway.rss }
	l := fit(samples, 50*time.Second, rss)
	if math.Abs(l.level-1000) > 2 || math.Abs(l.perSecond-2) > 0.1 {
		t.Errorf("%+v, wanted 1000 and 2 a second", l)
	}
	if rise := l.rise(50 * time.Second); math.Abs(rise-10) > 0.5 {
		t.Errorf("a rise of %v %%, wanted 10", rise)
	}
	if !l.rises(50*time.Second, 5) || l.rises(50*time.Second, 15) {
		t.Errorf("%+v: wanted a rise of more than 5 and less than 15 %%", l)
	}
	if l := fit(samples[:50], 0, rss); l.perSecond != 0 || l.level != 5000 {
		t.Errorf("a level line is %+v", l)
	}
	if l := fit(nil, 0, rss); l.rise(time.Minute) != 0 {
		t.Errorf("no samples make %+v", l)
	}
}

func TestWhatGoesUpAndDownDoesNotRise(t *testing.T) {
	var samples []sample
	for i, rss := range []int64{90, 100, 110, 95, 105, 92, 108, 99, 101, 111, 93, 112} { // rises by some percent, by chance
		samples = append(samples, sample{at: time.Duration(i) * 5 * time.Second, gateway: usage{rss: rss}})
	}
	l := fit(samples, 0, func(s sample) int64 { return s.gateway.rss })
	if l.rise(time.Minute) < 3 || l.rises(time.Minute, 3) {
		t.Errorf("%+v, a rise of %v %%", l, l.rise(time.Minute))
	}
}
