//go:build linux

package suite

import (
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
)

// Latency is how long an exchange takes when there is room: at half of the most exchanges, and of one caller alone.
//
// The inside times are taken on the wire: from the moment a client's, or a server's, send call begins until the kernel has
// what the gateway wrote in return, as it stamps it. So they hold the way through the kernel and the waking of the gateway's
// goroutine, twice for an exchange. A bare POST has both once.
type Latency struct {
	HalfRate float64 `json:"half_rate"` // exchanges a second
	Half     *Series `json:"half"`      // the gateway's exchanges at it
	HalfPost *Series `json:"half_post"` // bare POSTs at the same rate

	Alone        *Series `json:"alone"` // one caller
	AlonePost    *Series `json:"alone_post"`
	AloneUpgrade *Series `json:"alone_upgrade"`
}

// MeasureLatency measures it. most is the gateway's highest rate.
func MeasureLatency(p Plan, program string, most float64) (*Latency, error) {
	var s stage
	defer s.close()
	g, f := s.gateway(program), s.role("floor")
	if s.err != nil {
		return nil, s.err
	}
	half := s.exchanges(g.Addresses, "half", 1, callers, floor.Result, true)
	halfPost := s.crew(newPosts(f.Plain, floor.PostPath, "", callers, true))
	alone := s.exchanges(g.Addresses, "alone", 1, 1, floor.Result, false)
	alonePost := s.crew(newPosts(f.Plain, floor.PostPath, "", 1, false))
	aloneUpgrade := s.crew(newUpgrades(f.Plain, floor.LastPath, floor.Result, 1))
	if s.err != nil {
		return nil, s.err
	}
	l := &Latency{HalfRate: most / 2}
	for _, crew := range []*load.Crew{half, halfPost} {
		crew.Pace(l.HalfRate)
	}
	got, err := contest(p, crewOf("half load", half, g.PID()), crewOf("POST at the same rate", halfPost, f.PID()),
		crewOf("one caller", alone, g.PID()), crewOf("one POST at a time", alonePost, f.PID()), crewOf("one upgrade at a time", aloneUpgrade, f.PID()))
	if err != nil {
		return nil, err
	}
	l.Half, l.HalfPost = got["half load"], got["POST at the same rate"]
	l.Alone, l.AlonePost, l.AloneUpgrade = got["one caller"], got["one POST at a time"], got["one upgrade at a time"]
	return l, nil
}

// Beyond is what one caller's exchange takes beyond two bare round trips, in microseconds.
func (l *Latency) Beyond() Ratio {
	bare := combined("", l.AlonePost, l.AloneUpgrade)
	var each []float64
	for i, sample := range l.Alone.Samples {
		each = append(each, sample.P50-bare.Samples[i].P50)
	}
	return ratioOf(each)
}

// HalfBeyond is what an exchange at half load takes inside the gateway beyond twice what a bare POST takes: its median without
// the ways through the kernel and the wake-ups, of which an exchange has two, in microseconds.
func (l *Latency) HalfBeyond() Ratio {
	var each []float64
	for i, sample := range l.Half.Samples {
		each = append(each, sample.InsideP50-2*l.HalfPost.Samples[i].InsideP50)
	}
	return ratioOf(each)
}
