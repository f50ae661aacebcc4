//go:build linux

package render

import (
	"fmt"
	"math"
	"strconv"

	"github.com/diverge-network/gateway/bench/suite"
)

// count is a number with three digits that say something, and separators.
func count(v float64) string {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return separated(int64(math.Round(v/unit) * unit))
}

func separated(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// micros is a duration in microseconds, in the unit that suits it.
func micros(us float64) string {
	switch {
	case us <= 0:
		return "–"
	case us < 1000:
		return count(us) + " µs"
	default:
		return count(us/1000) + " ms"
	}
}

// kb is bytes as kilobytes.
func kb(n int64) string { return fmt.Sprintf("%.1f KB", float64(n)/1000) }

func mb(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// ratio is a median with its extremes.
func ratio(r suite.Ratio) string {
	if r.Median == 0 {
		return "–"
	}
	return fmt.Sprintf("**%.2f** (%.2f to %.2f)", r.Median, r.Low, r.High)
}

func short(r suite.Ratio) string {
	if r.Median == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", r.Median)
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return separated(int64(n)) + " " + thing + "s"
}

// onAxis is a number on an axis of a chart.
func onAxis(v float64) string {
	if v >= 10_000 {
		return strconv.FormatFloat(v/1000, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
