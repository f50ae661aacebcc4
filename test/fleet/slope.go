package main

import (
	"math"
	"time"
)

// countRise is how much goroutines and descriptors may rise over the last half of a soak's watch, in percent of what they are
// at that half's beginning, by the straight line that fits the samples best: containers on their way in are a part of them.
const countRise = 2

// memoryRise is the same for memory, over a half as long as this.
func memoryRise(half time.Duration) float64 {
	if half < 5*time.Minute {
		return 10 // a few cycles of the garbage collector
	}
	return 5
}

// certainly is of how many standard errors a slope must be, besides, for a level to count as rising: the garbage collector
// alone makes memory go up and down by a tenth.
const certainly = 3

// line is the straight line that fits samples best.
type line struct {
	level, perSecond float64 // at the time from which it was asked for
	doubt            float64 // the standard error of perSecond
}

// fit is the line through the settled samples from a time on, by least squares.
func fit(samples []sample, from time.Duration, of func(sample) int64) line {
	var n, sumX, sumY, sumXX, sumXY float64
	for _, s := range samples {
		if s.at < from || s.unsettled {
			continue
		}
		x, y := (s.at - from).Seconds(), float64(of(s))
		n++
		sumX += x
		sumY += y
		sumXX += x * x
		sumXY += x * y
	}
	spread := n*sumXX - sumX*sumX
	if spread == 0 {
		return line{level: sumY / max(n, 1)}
	}
	l := line{perSecond: (n*sumXY - sumX*sumY) / spread}
	l.level = (sumY - l.perSecond*sumX) / n
	var residues float64
	for _, s := range samples {
		if s.at < from || s.unsettled {
			continue
		}
		off := float64(of(s)) - l.level - l.perSecond*(s.at-from).Seconds()
		residues += off * off
	}
	if n > 2 {
		l.doubt = math.Sqrt(residues / (n - 2) * n / spread)
	}
	return l
}

// rises reports whether the line rises by more than so many percent in a time, and certainly.
func (l line) rises(in time.Duration, percent float64) bool {
	return l.rise(in) > percent && l.perSecond > certainly*l.doubt
}

// rise is by how much the line rises in a time, in percent of its level.
func (l line) rise(in time.Duration) float64 {
	if l.level <= 0 {
		return 0
	}
	return 100 * l.perSecond * in.Seconds() / l.level
}
