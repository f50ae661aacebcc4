//go:build linux

package suite

import (
	"fmt"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
	"github.com/diverge-network/gateway/bench/wire"
)

// Growth is the same work spread over more and more containers, each with /requests, a notifications path and an event stream
// open. A gateway with few of them runs beside each, in turns.
type Growth struct {
	Sizes    []GrowthSize `json:"sizes"`
	InMemory []InMemory   `json:"in_memory,omitempty"`
}

// GrowthSize is that for so many containers.
type GrowthSize struct {
	Containers int  `json:"containers"`
	Cost       Cost `json:"cost"` // of one of them, idle; of few of them it is mostly what the process has anyway

	// Callers that go over all containers in turn, fewer than there are containers, so that no two asks share one: what is
	// announced together is written together, and costs less.
	Exchange    *Series `json:"exchange"`
	ExchangeFew *Series `json:"exchange_few"`

	// Notifications, as many under way, each to the stream of its container.
	Notify    *Series `json:"notify"`
	NotifyFew *Series `json:"notify_few"`

	// A bare loop over as many pairs of sockets: what more and more sockets cost the machine.
	Bare    *Series `json:"bare"`
	BareFew *Series `json:"bare_few"`
}

const (
	fewContainers  = 10 // what is compared with
	growingCallers = 8
)

// populated is a gateway with so many containers, and what is done with them.
type populated struct {
	gateway  *child.Process
	exchange *load.Crew
	notify   *load.Crew
	cost     Cost
}

// MeasureGrowth measures it.
func MeasureGrowth(p Plan) (*Growth, error) {
	var s stage
	defer s.close()
	few, err := s.populate(fewContainers)
	if err != nil {
		return nil, err
	}
	bareFew, err := s.pairs(fewContainers)
	if err != nil {
		return nil, err
	}
	p.Rounds = pick(p, 5, 3)
	out := new(Growth)
	for _, n := range pick(p, []int{10, 100, 1000, 6000}, []int{10, 1000}) {
		size, err := growTo(p, few, bareFew, n)
		if err != nil {
			return nil, fmt.Errorf("%d containers: %w", n, err)
		}
		out.Sizes = append(out.Sizes, *size)
	}
	for _, n := range pick(p, []int{1000, 10_000, 100_000}, []int{1000, 10_000}) {
		m, err := inMemory(n)
		if err != nil {
			return nil, fmt.Errorf("%d containers in memory: %w", n, err)
		}
		out.InMemory = append(out.InMemory, m)
	}
	return out, nil
}

func growTo(p Plan, few *populated, bareFew entrant, n int) (*GrowthSize, error) {
	var s stage
	defer s.close()
	many, err := s.populate(n)
	if err != nil {
		return nil, err
	}
	bare, err := s.pairs(n)
	if err != nil {
		return nil, err
	}
	bareFew.name, bare.name = "bare few", "bare many"
	got, err := contest(p, bareFew, bare, crewOf("few", few.exchange, few.gateway.PID()), crewOf("many", many.exchange, many.gateway.PID()),
		crewOf("notify few", few.notify, few.gateway.PID()), crewOf("notify many", many.notify, many.gateway.PID()))
	if err != nil {
		return nil, err
	}
	return &GrowthSize{Containers: n, Cost: many.cost, Exchange: got["many"], ExchangeFew: got["few"], Notify: got["notify many"], NotifyFew: got["notify few"],
		Bare: got["bare many"], BareFew: got["bare few"]}, nil
}

// populate starts a gateway and opens containers.
func (s *stage) populate(n int) (*populated, error) {
	g := s.role("gateway")
	exchange, notify := s.crew(load.NewCrew(loops)), s.crew(load.NewCrew(loops))
	if s.err != nil {
		return nil, s.err
	}
	e := &exchangers{Crew: exchange}
	s.closing = append(s.closing, func() {
		for _, c := range e.containers {
			c.close()
		}
	})
	buf := make([]byte, 64<<10)
	before, err := g.Memory()
	if err != nil {
		return nil, err
	}
	for i := range n {
		c, err := openContainer(g.Addresses, fmt.Sprintf("g%d", i), parts{notifications: true, stream: true}, buf)
		if err != nil {
			return nil, err
		}
		e.containers = append(e.containers, c)
	}
	after, err := g.Memory()
	if err != nil {
		return nil, err
	}
	of := int64(n)
	w := &populated{gateway: g, exchange: exchange, notify: notify,
		cost: Cost{Count: n, Heap: (after.Heap - before.Heap) / of, Stack: (after.Stack - before.Stack) / of, RSS: (after.RSS - before.RSS) / of}}
	frames := wire.Answer(floor.Result)
	for _, c := range e.containers {
		if err := c.serve(exchange, g.Addresses, frames, nil); err != nil {
			return nil, err
		}
	}
	if err := e.addCallers(g.Inside, growingCallers, nil); err != nil {
		return nil, err
	}
	return w, w.addNotifiers(e.containers)
}

// addNotifiers shares the containers out among as many notifiers as there are callers.
func (w *populated) addNotifiers(containers []*container) error {
	pairs := make([]load.Pair, len(containers))
	for i, c := range containers {
		pairs[i] = load.Pair{Notifications: c.notifications, Stream: c.stream}
		c.stream = -1
	}
	return addNotifiers(w.notify, pairs)
}

func addNotifiers(crew *load.Crew, pairs []load.Pair) error {
	publication, err := load.NewFrame(notification(notificationText))
	if err != nil {
		return err
	}
	shares := make([][]load.Pair, min(growingCallers, len(pairs)))
	for i, p := range pairs {
		shares[i%len(shares)] = append(shares[i%len(shares)], p)
	}
	for _, share := range shares {
		if err := crew.AddNotifier(share, publication); err != nil {
			return err
		}
	}
	return nil
}

// pairs starts a floor, and is the entrant that does with n pairs of its sockets what populated.notify does.
func (s *stage) pairs(n int) (e entrant, err error) {
	f, crew := s.role("floor"), s.crew(load.NewCrew(loops))
	if s.err != nil {
		return e, s.err
	}
	pairs := make([]load.Pair, n)
	for i := range pairs {
		if pairs[i].Stream, err = listening(f.Plain, wire.Listen(floor.Pair(floor.StreamPath, i), "x")); err != nil {
			return e, err
		}
		if pairs[i].Notifications, err = upgraded(f.Plain, floor.Pair(floor.TriggerPath, i)); err != nil {
			pairs[i].Stream.Close()
			return e, err
		}
		s.closing = append(s.closing, pairs[i].Notifications.Close)
	}
	return crewOf("bare", crew, f.PID()), addNotifiers(crew, pairs)
}
