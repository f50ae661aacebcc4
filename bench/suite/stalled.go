//go:build linux

package suite

import (
	"fmt"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/load"
)

// Stalled is the fan-out to streams of which a tenth is never read.
type Stalled struct {
	Streams int `json:"streams"`
	Never   int `json:"never"` // of them, are not read

	Rate    float64 `json:"rate"`    // notifications a second
	None    *Series `json:"none"`    // all are read
	Some    *Series `json:"some"`    // the delay of those that are read, while a tenth is not
	Grew    int64   `json:"grew"`    // by so many bytes the gateway's process grew, until all queues were full
	Bound   int64   `json:"bound"`   // what the queues may hold
	Dropped float64 `json:"dropped"` // messages that were dropped for room, of the stalled streams alone
}

const (
	stalledStreams = 1000
	queueBytes     = 1 << 20 // what a stream's queue may hold
	fillText       = 60 << 10
	stalledWindow  = 4
)

// MeasureStalled measures it.
func MeasureStalled(p Plan, program string) (*Stalled, error) {
	var s stage
	defer s.close()
	g := s.gateway(program)
	if s.err != nil {
		return nil, s.err
	}
	never := stalledStreams / 10
	none, err := gatewayHub(g.Addresses, "none", stalledWindow, stalledStreams, 0)
	if none != nil {
		defer none.close()
	}
	if err != nil {
		return nil, err
	}
	some, err := gatewayHub(g.Addresses, "some", stalledWindow, stalledStreams-never, never)
	if some != nil {
		defer some.close()
	}
	if err != nil {
		return nil, err
	}
	out := &Stalled{Streams: stalledStreams, Never: never, Bound: int64(never) * queueBytes}
	before, _, err := child.Resident(g.PID())
	if err != nil {
		return nil, err
	}
	if err := fill(p, some); err != nil {
		return nil, fmt.Errorf("filling the queues: %w", err)
	}
	after, _, err := child.Resident(g.PID())
	if err != nil {
		return nil, err
	}
	out.Grew = after - before
	// A third of what it can.
	m, err := none.Run(p.Warm, p.Measure, nil)
	if err != nil {
		return nil, err
	}
	out.Rate = m.Rate() / stalledStreams / 3
	none.FanOut.Pace(out.Rate)
	some.FanOut.Pace(out.Rate)
	got, err := contest(p, crewOf("none", none.Crew, g.PID()), crewOf("some", some.Crew, g.PID()))
	if err != nil {
		return nil, err
	}
	out.None, out.Some = got["none"], got["some"]
	samples, err := child.Metrics(g.Ops)
	out.Dropped = samples[`gateway_notifications_dropped_total{reason="room"}`]
	if err == nil && out.Dropped == 0 {
		err = fmt.Errorf("the run is void: nothing was dropped, so no queue was full")
	}
	return out, err
}

// fill publishes large notifications, until the kernel's buffers and then the queues of who does not read are full.
func fill(p Plan, h *hub) error {
	large, err := load.NewFrame(notification(fillText))
	if err != nil {
		return err
	}
	small, err := load.NewFrame(notification(notificationText))
	if err != nil {
		return err
	}
	h.With(large)
	defer h.With(small)
	for h.Published() < 200 { // 12 MiB: three times what the kernel holds at most, and ten times a queue
		if _, err := h.Run(0, p.Measure/4, nil); err != nil {
			return err
		}
	}
	return nil
}

// Slower is how many times the delay of none stalled the p99 delay of the others is.
func (s *Stalled) Slower() Ratio { return Over(s.Some, s.None, P99) }
