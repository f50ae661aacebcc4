package gateway

import (
	"fmt"
	"strconv"

	"github.com/diverge-network/gateway/internal/inside"
	"github.com/diverge-network/gateway/internal/ops"
	"github.com/diverge-network/gateway/pkg/mux"
)

// Limits are how much there may be at once; docs/limits.md says what happens beyond. All of them are positive.
type Limits struct {
	Asks       int // requests in flight, per container
	Waiting    int // of those, per container, the ones that no server has heard of
	AsksTotal  int // requests in flight, over all containers
	Streams    int // event streams, per container
	Containers int
}

var defaultLimits = Limits{Asks: 256, Waiting: 256, AsksTotal: 100_000, Streams: 256, Containers: 50_000}

// maxLimit is the most that any of them may be: what is counted fits 31 bits.
const maxLimit = 1<<31 - 1

// byFlag is every limit, in the order of docs/limits.md.
func (l *Limits) byFlag() []named {
	return []named{
		{mux.LimitAsks.String(), l.Asks},
		{mux.LimitWaiting.String(), l.Waiting},
		{mux.LimitAsksTotal.String(), l.AsksTotal},
		{string(inside.ReasonMaxStreams), l.Streams},
		{mux.LimitContainers.String(), l.Containers},
	}
}

// named is one of them by the name that it has everywhere: of its flag, of the reason of its refusals, in metrics.
type named struct {
	name string
	most int
}

func (l *Limits) validate() error {
	for _, limit := range l.byFlag() {
		if limit.most < 1 || limit.most > maxLimit {
			return &ConfigError{Flag: "--" + limit.name, Value: strconv.Itoa(limit.most),
				Problem: fmt.Sprintf("is out of range: 1 to %d", maxLimit)}
		}
	}
	for _, within := range []struct {
		part, whole named
	}{
		{named{mux.LimitWaiting.String(), l.Waiting}, named{mux.LimitAsks.String(), l.Asks}},
		{named{mux.LimitAsks.String(), l.Asks}, named{mux.LimitAsksTotal.String(), l.AsksTotal}},
	} {
		if within.part.most > within.whole.most {
			return &ConfigError{Flag: "--" + within.part.name, Value: strconv.Itoa(within.part.most),
				Problem: fmt.Sprintf("is never reached, as --%s is %d: lower the one, or raise the other", within.whole.name, within.whole.most)}
		}
	}
	return nil
}

func (l *Limits) shown() (shown []ops.Limit) {
	for _, limit := range l.byFlag() {
		shown = append(shown, ops.Limit{Name: limit.name, Most: int64(limit.most)})
	}
	return shown
}

// used is how far each limit is used up: of what is limited per container, by that which has most of it.
func (g *Gateway) used() map[string]int64 {
	asks, waiting, streams := 0, 0, 0
	g.mux.Each(func(c *mux.Container) {
		inFlight, unheard := c.Asks()
		asks, waiting = max(asks, inFlight), max(waiting, unheard)
		if face, ok := c.Sink().(*inside.Face); ok {
			streams = max(streams, face.Streams())
		}
	})
	s := g.mux.Stats()
	used := g.holding.used()
	used[mux.LimitAsks.String()] = int64(asks)
	used[mux.LimitWaiting.String()] = int64(waiting)
	used[mux.LimitAsksTotal.String()] = s.Waiting + s.Announced + s.Open
	used[string(inside.ReasonMaxStreams)] = int64(streams)
	used[mux.LimitContainers.String()] = s.Containers
	return used
}
