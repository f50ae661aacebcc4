//go:build linux

package suite

import (
	"fmt"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/wire"
)

// Idle is what things cost that wait, after traffic has passed through them: bytes of the server's process for each.
type Idle struct {
	Costs []Cost `json:"costs"`
}

// Cost is that of one kind of thing.
type Cost struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Heap  int64  `json:"heap"`
	Stack int64  `json:"stack"`
	RSS   int64  `json:"rss"`
}

// Sum is heap and stack.
func (c Cost) Sum() int64 { return c.Heap + c.Stack }

// settle is how many things are opened before it is counted: pools, tables and runtime structures find their size.
const settle = 64

// costOf opens n things and says what each has cost.
func costOf(name string, n int, memory func() (child.Memory, error), open func(i int) error) (c Cost, err error) {
	for i := range settle {
		if err := open(i); err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
	}
	before, err := memory()
	if err != nil {
		return c, err
	}
	for i := range n {
		if err := open(settle + i); err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
	}
	after, err := memory()
	of := int64(n)
	return Cost{Name: name, Count: n, Heap: (after.Heap - before.Heap) / of, Stack: (after.Stack - before.Stack) / of, RSS: (after.RSS - before.RSS) / of}, err
}

// Names of costs that are looked up again.
const (
	IdleSocket    = "WebSocket (`/requests` of a container of its own)"
	IdlePath      = "WebSocket (a container's notifications path)"
	IdleStream    = "event stream with its session"
	IdleContainer = "container: both sockets, stream, session, state"
	IdleBare      = "bare connection: net.Conn and a waiting goroutine"
)

// MeasureIdle measures it; centrifugo may be empty.
func MeasureIdle(p Plan, centrifugo string) (*Idle, error) {
	n, out := pick(p, 3000, 1000), new(Idle)
	for _, kind := range []struct {
		name string
		open opener
	}{
		{IdleSocket, idleRequests},
		{IdleContainer, idleContainer},
		{IdleStream, idleStream},
	} {
		if err := out.measure("gateway", kind.name, n, kind.open); err != nil {
			return nil, err
		}
	}
	if err := out.measure("floor", IdleBare, n, func(f child.Addresses, _ int) ([]wire.Peer, error) {
		socket, err := upgraded(f.Plain, floor.IdlePath)
		return []wire.Peer{socket}, err
	}); err != nil {
		return nil, err
	}
	if centrifugo != "" {
		return out, out.centrifugo(centrifugo, n)
	}
	return out, nil
}

// opener opens the i-th thing of a kind, and returns all that has to stay open for it, also with an error.
type opener func(a child.Addresses, i int) ([]wire.Peer, error)

func (out *Idle) measure(role, name string, n int, open opener) error {
	var s stage
	defer s.close()
	process := s.role(role)
	if s.err != nil {
		return s.err
	}
	c, err := costOf(name, n, process.Memory, func(i int) error {
		peers, err := open(process.Addresses, i)
		for _, p := range peers {
			s.closing = append(s.closing, p.Close)
		}
		return err
	})
	out.Costs = append(out.Costs, c)
	return err
}

func idleRequests(g child.Addresses, i int) ([]wire.Peer, error) {
	socket, err := upgraded(g.Outside, fmt.Sprintf("/containers/c%d/requests", i))
	if err == nil {
		err = pinged(socket, make([]byte, 256))
	}
	return []wire.Peer{socket}, err
}

func idleContainer(g child.Addresses, i int) ([]wire.Peer, error) {
	c, err := openContainer(g, fmt.Sprintf("c%d", i), parts{notifications: true, stream: true}, make([]byte, 8<<10))
	return []wire.Peer{c.requests, c.notifications, c.stream}, err
}

// idleStream is another session of one container, whose stream has carried a comment.
func idleStream(g child.Addresses, _ int) ([]wire.Peer, error) {
	session, err := begin(g.Inside, endpoint("streams"))
	if err != nil {
		return nil, err
	}
	p, err := wire.Dial(g.Inside)
	if err != nil {
		return nil, err
	}
	_, err = p.Ask(wire.Listen(endpoint("streams"), session), make([]byte, 4<<10), wire.HeadEnds)
	return []wire.Peer{p}, err
}

// centrifugo has the same of its transports.
func (out *Idle) centrifugo(program string, n int) error {
	for transport, open := range map[string]func(*child.Process) (wire.Peer, error){"SSE": centrifugoStream, "WebSocket, small buffers": centrifugoSocket} {
		var s stage
		c, err := s.centrifugo(program)
		if err == nil {
			var cost Cost
			cost, err = costOf("Centrifugo, unidirectional "+transport, n, func() (child.Memory, error) { return centrifugoMemory(c) }, func(int) error {
				p, err := open(c)
				s.closing = append(s.closing, p.Close)
				return err
			})
			out.Costs = append(out.Costs, cost)
		}
		s.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Of is the cost of that name.
func (out *Idle) Of(name string) Cost {
	for _, c := range out.Costs {
		if c.Name == name {
			return c
		}
	}
	return Cost{}
}
