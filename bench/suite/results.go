//go:build linux

package suite

import (
	"slices"
	"time"
)

// Sample is what one turn brought. What was not measured is 0.
type Sample struct {
	Rate      float64 `json:"rate"`                 // pieces of work in a second
	P50       float64 `json:"p50_us,omitempty"`     // microseconds from the beginning of a piece of work to its end
	P99       float64 `json:"p99_us,omitempty"`     //
	InsideP50 float64 `json:"inside_p50,omitempty"` // microseconds of that on the server's side
	InsideP99 float64 `json:"inside_p99,omitempty"` //
	CPU       float64 `json:"cpu_us,omitempty"`     // microseconds of the server's processor time for each
	Allocs    float64 `json:"allocs,omitempty"`     // objects that the server allocated for each
}

// Series is what one entrant did, round for round.
type Series struct {
	Name    string   `json:"name"`
	Samples []Sample `json:"samples"`
}

// The figures of a sample, for Series.Median and Over.
func Rate(s Sample) float64      { return s.Rate }
func P50(s Sample) float64       { return s.P50 }
func P99(s Sample) float64       { return s.P99 }
func InsideP50(s Sample) float64 { return s.InsideP50 }
func InsideP99(s Sample) float64 { return s.InsideP99 }
func CPU(s Sample) float64       { return s.CPU }
func Allocs(s Sample) float64    { return s.Allocs }

// Median is that of one figure over all rounds; 0 where there are none.
func (s *Series) Median(of func(Sample) float64) float64 { return Median(s.all(of)) }

func (s *Series) all(of func(Sample) float64) (all []float64) {
	if s == nil {
		return nil
	}
	for _, sample := range s.Samples {
		all = append(all, of(sample))
	}
	return all
}

// Median is the middle of all; 0 of none.
func Median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	mid := len(all) / 2
	if len(all)%2 == 1 {
		return all[mid]
	}
	return (all[mid-1] + all[mid]) / 2
}

// Ratio is the median of a ratio over the rounds, and its extremes.
type Ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func ratioOf(each []float64) Ratio {
	if len(each) == 0 {
		return Ratio{}
	}
	return Ratio{Median: Median(each), Low: slices.Min(each), High: slices.Max(each)}
}

// Over is a figure of a over that of b, round for round.
func Over(a, b *Series, of func(Sample) float64) Ratio {
	var each []float64
	for i, y := range b.all(of) {
		if x := a.all(of); i < len(x) && y != 0 {
			each = append(each, x[i]/y)
		}
	}
	return ratioOf(each)
}

// Fastest is the one with the highest median rate.
func Fastest(all ...*Series) *Series {
	return slices.MaxFunc(all, func(a, b *Series) int {
		switch x, y := a.Median(Rate), b.Median(Rate); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// combined is what is left when each piece of work takes one of all of these: 1 / (1/a + 1/b + …).
func combined(name string, parts ...*Series) *Series {
	out := &Series{Name: name}
	for i := range parts[0].Samples {
		var sum Sample
		var seconds float64
		for _, p := range parts {
			s := p.Samples[i]
			seconds += 1 / s.Rate
			sum.CPU += s.CPU
			sum.P50 += s.P50
			sum.InsideP50 += s.InsideP50
		}
		sum.Rate = 1 / seconds
		out.Samples = append(out.Samples, sum)
	}
	return out
}

// Machine is what everything was measured on.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Memory int64  `json:"memory"`
	// LoadAt is the load average as the run began: above the number of cores others were at work.
	LoadAt float64 `json:"load_at_begin"`
}

// Results is everything that was found.
type Results struct {
	Command string        `json:"command"`
	Date    string        `json:"date"`
	Commit  string        `json:"commit"`
	Took    time.Duration `json:"took"`
	Plan    Plan          `json:"plan"`
	Machine Machine       `json:"machine"`

	Micro    *Micro    `json:"micro,omitempty"`
	Exchange *Exchange `json:"exchange,omitempty"`
	Latency  *Latency  `json:"latency,omitempty"`
	Big      *Big      `json:"big,omitempty"`
	FanOut   *FanOut   `json:"fan_out,omitempty"`
	Stalled  *Stalled  `json:"stalled,omitempty"`
	Idle     *Idle     `json:"idle,omitempty"`
	Growth   *Growth   `json:"growth,omitempty"`
	Start    *Start    `json:"start,omitempty"`
	Churn    *Churn    `json:"churn,omitempty"`
	Peers    *Peers    `json:"peers,omitempty"`

	// Skipped are the parts that could not be measured, and why.
	Skipped []string `json:"skipped,omitempty"`
}
