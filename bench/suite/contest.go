//go:build linux

package suite

import (
	"fmt"
	"slices"
	"time"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
)

// Plan is how long things are measured.
type Plan struct {
	Short   bool          `json:"short"`
	Rounds  int           `json:"rounds"`
	Warm    time.Duration `json:"warm"`
	Measure time.Duration `json:"measure"`
}

// Full and Short are the plans of the report.
var (
	Full  = Plan{Rounds: 7, Warm: 150 * time.Millisecond, Measure: 900 * time.Millisecond}
	Short = Plan{Short: true, Rounds: 3, Warm: 80 * time.Millisecond, Measure: 250 * time.Millisecond}
)

// pick is full's value, or short's in a short plan.
func pick[T any](p Plan, full, short T) T {
	if p.Short {
		return short
	}
	return full
}

// entrant is one of those who take turns.
type entrant struct {
	name string
	run  func(p Plan, around func(bool) error) (load.Measured, error)
	pids []int // of the processes whose CPU counts

	// mallocs is how many objects its server has allocated so far; nil: nobody knows.
	mallocs func() (float64, error)
}

// crewOf is an entrant that is a crew.
func crewOf(name string, crew *load.Crew, pids ...int) entrant {
	return entrant{name: name, pids: pids, run: func(p Plan, around func(bool) error) (load.Measured, error) {
		return crew.Run(p.Warm, p.Measure, around)
	}}
}

// contest has all take turns, and returns what each did in each round.
func contest(p Plan, entrants ...entrant) (map[string]*Series, error) {
	all := make(map[string]*Series)
	for round := range p.Rounds {
		order := slices.Clone(entrants)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, e := range order {
			s, err := e.sample(p)
			if err != nil {
				return all, fmt.Errorf("%s: %w", e.name, err)
			}
			if all[e.name] == nil {
				all[e.name] = &Series{Name: e.name}
			}
			all[e.name].Samples = append(all[e.name].Samples, s)
		}
	}
	return all, nil
}

func (e entrant) sample(p Plan) (s Sample, err error) {
	var used [2]time.Duration
	var mallocs [2]float64
	m, err := e.run(p, func(begins bool) (err error) {
		i := 1
		if begins {
			i = 0
		}
		if mallocs[i], err = e.allocated(begins); err != nil {
			return err
		}
		used[i], err = child.CPU(e.pids...)
		return err
	})
	if err != nil {
		return s, err
	}
	n := float64(max(m.Done, 1)) // a busy machine can leave one without a turn
	return Sample{
		Rate: m.Rate(), P50: micros(m.Latency[0]), P99: micros(m.Latency[2]),
		InsideP50: micros(m.Inside[0]), InsideP99: micros(m.Inside[2]),
		CPU:    micros(used[1]-used[0]) / n,
		Allocs: (mallocs[1] - mallocs[0]) / n,
	}, nil
}

// allocated is how many objects the entrant's server has allocated. Asking allocates too: what it takes to ask once is counted
// in at the beginning, so that it does not show in the difference.
func (e entrant) allocated(begins bool) (n float64, err error) {
	if e.mallocs == nil {
		return 0, nil
	}
	first, err := e.mallocs()
	if err != nil || !begins {
		return first, err
	}
	second, err := e.mallocs()
	if err != nil {
		return 0, err
	}
	third, err := e.mallocs()
	return third + third - second, err
}

// mallocsOf asks a gateway's metrics.
func mallocsOf(ops string) func() (float64, error) {
	return func() (float64, error) {
		samples, err := child.Metrics(ops)
		return samples["go_memstats_mallocs_total"], err
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// frames is an entrant that hears frames on sockets opened for each turn.
func frames(name, addr string, sockets, size int, pids ...int) entrant {
	return entrant{name: name, pids: pids, run: func(p Plan, around func(bool) error) (m load.Measured, err error) {
		crew, err := load.NewCrew(loops)
		if err != nil {
			return m, err
		}
		defer crew.Close()
		if err := addFrames(crew, addr, sockets, size); err != nil {
			return m, err
		}
		return crew.Run(p.Warm, p.Measure, around)
	}}
}

func addFrames(crew *load.Crew, addr string, sockets, size int) error {
	for range sockets {
		socket, err := upgraded(addr, fmt.Sprint(floor.FramesPath, size))
		if err != nil {
			return err
		}
		if err := socket.Send([]byte{'!'}); err != nil {
			return err
		}
		if err := crew.AddSink(socket); err != nil {
			return err
		}
	}
	return nil
}
