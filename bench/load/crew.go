//go:build linux

package load

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/bench/wire"
)

// Crew is a set of loops that run together, and what they count.
type Crew struct {
	Loops []*wire.Loop
	tally []*tally

	open     atomic.Bool // work may be begun
	inFlight atomic.Int64
	starts   []func() error // begin work, before the loops run
}

// tally is what one loop's ends count.
type tally struct {
	done   atomic.Int64
	late   Histogram // from the beginning of a piece of work to its end
	inside Histogram // see Stamp
	crew   *Crew
	loop   *wire.Loop
	pace   pace
}

// NewCrew makes a crew of n loops.
func NewCrew(n int) (*Crew, error) {
	c := new(Crew)
	for range n {
		l, err := wire.NewLoop()
		if err != nil {
			c.Close()
			return nil, err
		}
		c.Loops = append(c.Loops, l)
		c.tally = append(c.tally, &tally{crew: c, loop: l})
	}
	return c, nil
}

// Close closes everything that the crew has open. It must not be running.
func (c *Crew) Close() {
	for _, l := range c.Loops {
		l.Close()
	}
}

// at spreads things over the loops.
func (c *Crew) at(i int) *tally { return c.tally[i%len(c.tally)] }

// Measured is what a crew did in a while.
type Measured struct {
	Done    int64
	Elapsed time.Duration
	Latency []time.Duration // p50, p90, p99, p99.9
	Inside  []time.Duration // the same, if it was stamped
}

// Rate is how much was done in a second.
func (m Measured) Rate() float64 { return float64(m.Done) / m.Elapsed.Seconds() }

// quantiles are those of Measured.
var quantiles = []float64{0.5, 0.9, 0.99, 0.999}

// Run has the crew work for warm, and then for the time that is measured; around, if it is given, is called at both ends of
// that. What was begun is finished before it returns, so that nothing of it is left in the next run.
func (c *Crew) Run(warm, measure time.Duration, around func(begins bool) error) (Measured, error) {
	return c.run(warm, around, func(failed <-chan error) error { return rest(measure, failed) })
}

// Do has the crew do so many pieces of work, or some more.
func (c *Crew) Do(n int64, around func(begins bool) error) (Measured, error) {
	return c.run(0, around, func(failed <-chan error) error {
		for until := c.Done() + n; c.Done() < until; {
			if err := rest(200*time.Microsecond, failed); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Crew) run(warm time.Duration, around func(bool) error, work func(failed <-chan error) error) (m Measured, err error) {
	// Nothing allocates while it runs, and a collection of what was before would disturb it.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	c.open.Store(true)
	for _, t := range c.tally {
		t.pace.free = append(t.pace.free, make([]*Caller, len(c.starts))...)[:0] // room for all
	}
	for _, start := range c.starts {
		if err := start(); err != nil {
			return m, err
		}
	}
	failed := make(chan error, len(c.Loops))
	var running sync.WaitGroup
	for _, l := range c.Loops {
		running.Go(func() {
			if err := l.Run(); err != nil {
				failed <- err
			}
		})
	}
	m, err = c.measure(warm, around, work, failed)
	for _, l := range c.Loops {
		l.Stop()
	}
	running.Wait()
	return m, err
}

// finishWithin is how long what was begun may take.
const finishWithin = 15 * time.Second

func (c *Crew) measure(warm time.Duration, around func(bool) error, work func(<-chan error) error, failed <-chan error) (m Measured, err error) {
	if err := rest(warm, failed); err != nil {
		return m, err
	}
	if around != nil {
		if err := around(true); err != nil {
			return m, err
		}
	}
	for _, t := range c.tally {
		t.late.Reset()
		t.inside.Reset()
	}
	before, began := c.Done(), time.Now()
	if err := work(failed); err != nil {
		return m, err
	}
	m.Done, m.Elapsed = c.Done()-before, time.Since(began)
	if around != nil {
		if err := around(false); err != nil {
			return m, err
		}
	}
	m.Latency, m.Inside = Quantiles(c.histograms(func(t *tally) *Histogram { return &t.late }), quantiles...),
		Quantiles(c.histograms(func(t *tally) *Histogram { return &t.inside }), quantiles...)
	c.open.Store(false)
	for waited := time.Duration(0); c.inFlight.Load() > 0; waited += time.Millisecond {
		if waited > finishWithin {
			return m, fmt.Errorf("%d pieces of work were not finished %v after the end", c.inFlight.Load(), finishWithin)
		}
		if err := rest(time.Millisecond, failed); err != nil {
			return m, err
		}
	}
	return m, nil
}

func rest(d time.Duration, failed <-chan error) error {
	select {
	case err := <-failed:
		return err
	case <-time.After(d):
		return nil
	}
}

// Done is how much was done since the beginning.
func (c *Crew) Done() (n int64) {
	for _, t := range c.tally {
		n += t.done.Load()
	}
	return n
}

func (c *Crew) histograms(of func(*tally) *Histogram) (all []*Histogram) {
	for _, t := range c.tally {
		all = append(all, of(t))
	}
	return all
}

// finished counts a piece of work.
func (t *tally) finished(began int64) {
	t.done.Add(1)
	t.late.Record(wire.Clock() - began)
}
