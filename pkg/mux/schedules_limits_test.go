package mux

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The limits in random schedules.

func drawLimits(t *rapid.T) Limits {
	draw := func(what string, limits ...int) int { return rapid.SampledFrom(limits).Draw(t, what) }
	return Limits{
		Asks:      draw("limit of asks", 0, 1, 3, 6),
		Waiting:   draw("limit of waiting asks", 0, 0, 1, 3),
		AsksTotal: draw("limit of asks in all", 0, 0, 2, 5),
	}
}

// limitOf is the limit that an error names, "" for none.
func limitOf(err error) string {
	var over *LimitError
	if !errors.As(err, &over) {
		return ""
	}
	return over.Limit.String()
}

// over is the limit that keeps c from another ask, "" if none does.
func (c *modelContainer) over(all []*pair) string {
	inFlight, unheard := c.counts()
	total := 0
	for _, other := range all {
		if other.real != nil {
			n, _ := other.model.counts()
			total += n
		}
	}
	l := c.m.limits
	switch {
	case l.Waiting > 0 && !c.live && unheard >= l.Waiting:
		return "max-waiting"
	case l.Asks > 0 && inFlight >= l.Asks:
		return "max-asks"
	case l.AsksTotal > 0 && total >= l.AsksTotal:
		return "max-asks-total"
	}
	return ""
}

func (c *modelContainer) counts() (inFlight, unheard int) {
	for _, a := range c.asks {
		if a.state != "done" {
			inFlight++
			if a.asked == 0 {
				unheard++
			}
		}
	}
	return inFlight, unheard
}

// windDown ends whatever has begun, each in a way of its own, after which every
// count is back at 0.
func (s *schedule) windDown(t *rapid.T) {
	for _, a := range s.asks {
		if rapid.Bool().Draw(t, "the caller leaves") {
			a.c.model.depart(a.model, false)
			a.real.Leave()
		}
	}
	for len(s.paths) > 0 {
		p := s.paths[0]
		if rapid.Bool().Draw(t, "the path breaks") {
			s.end(p)
			p.real.Broke()
			p.model.broke()
		} else {
			s.closePath(p)
		}
	}
	for _, c := range s.containers {
		for i, claim := range c.claims {
			claim.Detach()
			c.model.detach(i + 1)
		}
	}
	for _, a := range s.asks {
		a.c.model.depart(a.model, true)
		a.real.Cancel()
	}
	s.exitAll(t)
	s.compare(t)
	s.model.now += 3 * idle
	s.sweep(t)
	if s.model.idle > 0 {
		s.sweep(t) // the first has found busy what ended just before
	}
	s.compare(t)
	for _, c := range s.containers {
		if c.real == nil {
			continue
		}
		if s.model.idle > 0 {
			t.Fatalf("container %s is still there", c.id)
		}
		if inFlight, waiting := c.real.Asks(); inFlight != 0 || waiting != 0 {
			t.Fatalf("container %s counts %d asks, %d of them unheard of", c.id, inFlight, waiting)
		}
	}
	for k := range s.m.counters.asks {
		if n := s.m.counters.asks[k].inFlight.Load(); n != 0 {
			t.Fatalf("%d asks of kind %d are counted for ever", n, k)
		}
	}
}

// TestContainersKeepToTheirLimitUnderRandomSchedules has more containers come than
// there may be. What is there always serves; a new one is refused only if too few
// of those that are there have rested.
func TestContainersKeepToTheirLimitUnderRandomSchedules(t *testing.T) {
	const most = 3
	rapid.Check(t, func(t *rapid.T) {
		var now time.Duration
		epoch := time.Unix(1_800_000_000, 0)
		m := newMux(Config{Idle: idle, Now: func() time.Time { return epoch.Add(now) }, Limits: Limits{Containers: most}}, 64, 64)
		type held struct {
			id  string
			end func()
		}
		var holds []held
		use := map[string]time.Duration{} // when a container was used last
		lookedAt := -time.Hour            // and too few had rested
		// begin checks whether id may begin, with what err says.
		begin := func(id string, err error) bool {
			_, there := use[id]
			limit := limitOf(err)
			if there || len(use) < most {
				if err != nil && limit != "" {
					t.Fatalf("%q refused by %s, with %d there", id, limit, len(use))
				}
				return err == nil
			}
			rested := 0
			for other, at := range use {
				if !slices.ContainsFunc(holds, func(h held) bool { return h.id == other }) && now-at >= shortestRest {
					rested++
				}
			}
			if limit != "" {
				if now-lookedAt >= shortestRest {
					if rested > 0 {
						t.Fatalf("%q refused although %d have rested", id, rested)
					}
					lookedAt = now
				}
				return false
			}
			return err == nil
		}
		// forget takes note of what was forgotten meanwhile.
		forget := func() {
			for id := range use {
				if m.Lookup(id) == nil {
					if slices.ContainsFunc(holds, func(h held) bool { return h.id == id }) {
						t.Fatalf("%q was forgotten while it was used", id)
					}
					if now-use[id] < shortestRest {
						t.Fatalf("%q was forgotten %v after it was used", id, now-use[id])
					}
					delete(use, id)
				}
			}
			if n := m.containers.Size(); n > most || n != len(use) {
				t.Fatalf("%d containers, want %d, at most %d", n, len(use), most)
			}
		}
		id := func(t *rapid.T) string { return fmt.Sprint("c", rapid.IntRange(0, 5).Draw(t, "container")) }
		hold := func(id string, err error, end func()) {
			if begin(id, err) {
				use[id] = now
				holds = append(holds, held{id, end})
			}
			forget()
		}
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				id := id(t)
				c, err := m.Enter(id)
				hold(id, err, func() { c.Exit() })
			},
			"claim": func(t *rapid.T) {
				id := id(t)
				cl, err := m.Claim(id)
				if !errors.Is(err, ErrClaimed) {
					hold(id, err, func() { cl.Detach() })
				}
			},
			"ask": func(t *rapid.T) {
				id := id(t)
				c, err := m.Container(id)
				var a *Ask
				if err == nil {
					a = taken(c.Ask(answerKinds[0], nil, &fakeCaller{}))
				}
				hold(id, err, func() { a.Leave() })
			},
			"end": func(t *rapid.T) {
				if len(holds) == 0 {
					return
				}
				i := rapid.IntRange(0, len(holds)-1).Draw(t, "hold")
				h := holds[i]
				holds = slices.Delete(holds, i, i+1)
				h.end()
				use[h.id] = now
			},
			"time passes": func(t *rapid.T) {
				now += rapid.SampledFrom([]time.Duration{1, shortestRest, 3 * shortestRest, idle / 2, idle}).Draw(t, "time")
			},
			"sweep": func(*rapid.T) { m.Sweep(); forget() },
		})
		for _, h := range holds {
			h.end()
		}
		holds = nil
		now += idle
		m.Sweep()
		if s := m.Stats(); s.Containers != 0 || s.Present != 0 || s.Waiting != 0 || s.Illegal != 0 {
			t.Fatalf("at the end: %+v", s)
		}
	})
}
