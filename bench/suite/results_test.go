//go:build linux

package suite

import (
	"math"
	"testing"
)

func series(rates ...float64) *Series {
	s := new(Series)
	for _, r := range rates {
		s.Samples = append(s.Samples, Sample{Rate: r})
	}
	return s
}

func TestARatioIsThatOfOneRound(t *testing.T) {
	// The machine was half as fast in the second round: neither ratio shows it.
	got := Over(series(90, 45, 80), series(100, 50, 100), Rate)
	if want := (Ratio{Median: 0.9, Low: 0.8, High: 0.9}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Over(nil, series(1), Rate); got != (Ratio{}) {
		t.Errorf("a ratio of nothing is %v", got)
	}
}

func TestTheCombinedFloorTakesOneOfEach(t *testing.T) {
	c := combined("", series(100, 200), series(100, 50))
	for i, want := range []float64{50, 40} {
		if got := c.Samples[i].Rate; math.Abs(got-want) > 1e-9 {
			t.Errorf("round %d: %v, want %v", i, got, want)
		}
	}
}

func TestTheFastestWayIsTheFloor(t *testing.T) {
	slow, quick := series(10, 30, 10), series(20, 20, 20)
	if Fastest(slow, quick) != quick || Fastest(quick, slow) != quick {
		t.Error("the slower way was taken")
	}
}

func TestBenchmarkLinesAreRead(t *testing.T) {
	m := Micro{Operations: parseOperations([]byte("goos: linux\nBenchmarkTable/containers=10/sync.Map/exchange-2 \t 99 \t 228.5 ns/op\t 56 B/op\t 2 allocs/op\nBenchmarkOperation/CheckJSON-16 5 58 ns/op 70.64 MB/s 0 B/op 0 allocs/op\nPASS\n"))}
	if o := m.Of("Table/containers=10/sync.Map/exchange"); o.NS != 228.5 || o.Allocs != 2 || o.BytesEach != 56 {
		t.Errorf("got %+v", o)
	}
	if o := m.Of("Operation/CheckJSON"); o.MB != 70.64 || o.NS != 58 {
		t.Errorf("got %+v", o)
	}
}
