//go:build linux

package suite

import (
	"fmt"
	"strings"
	"time"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
	"github.com/diverge-network/gateway/bench/wire"
)

// FanOut is one notification for many streams: from the frame on the container's notifications path to the event at each
// client. The rate counts deliveries.
type FanOut struct {
	Event int          `json:"event"` // size of the event on the wire, in bytes
	Sizes []FanOutSize `json:"sizes"`
}

// FanOutSize is that for so many streams.
type FanOutSize struct {
	Streams int     `json:"streams"`
	Window  int     `json:"window"` // how many notifications are under way at once, at most
	Gateway *Series `json:"gateway"`
	// PerNotification are the gateway's allocations for each notification, whatever the number of streams.
	PerNotification float64 `json:"per_notification"`

	Loop       *Series `json:"loop"`       // one loop over the sockets, a write for each event
	Batch      *Series `json:"batch"`      // the same, what came together in one write; nil with a window of 1
	Halves     *Series `json:"halves"`     // two loops, each over half of the sockets, what came together in one write
	Centrifugo *Series `json:"centrifugo"` // nil where it does not run
}

// notification is one that may not be merged, and its number stands at its end.
func notification(size int) string {
	return `{"method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("n", size) + `",` + load.SeqMark +
		strings.Repeat("0", load.SeqDigits) + `"}}`
}

// notificationText makes an event of about 256 B.
const notificationText = 128

// hub is a publisher and its readers.
type hub struct {
	*load.Crew
	*load.FanOut
	closing []wire.Peer
}

func (h *hub) close() {
	h.Crew.Close()
	for _, p := range h.closing {
		p.Close()
	}
}

// newHub opens a crew whose publisher is p.
func newHub(p wire.Peer, publication load.Publication, window int) (*hub, error) {
	crew, err := load.NewCrew(loops)
	if err != nil {
		return nil, err
	}
	return &hub{Crew: crew, FanOut: crew.NewFanOut(p, publication, window), closing: []wire.Peer{p}}, nil
}

// gatewayHub is a container with so many sessions that listen, and as many more that open their stream and never read it.
func gatewayHub(g child.Addresses, container string, window, readers, stalled int) (h *hub, err error) {
	c, err := openContainer(g, container, parts{notifications: true}, make([]byte, 64<<10))
	if err != nil {
		return nil, err
	}
	publication, err := load.NewFrame(notification(notificationText))
	if err != nil {
		return nil, err
	}
	if h, err = newHub(c.notifications, publication, window); err != nil {
		return nil, err
	}
	h.closing = append(h.closing, c.requests)
	path := endpoint(container)
	client, err := wire.Dial(g.Inside)
	if err != nil {
		return h, err
	}
	defer client.Close()
	buf := make([]byte, 64<<10)
	for i := range readers + stalled {
		response, err := client.Ask(wire.Post(path, "", wire.Initialize), buf, wire.Whole)
		if err != nil {
			return h, err
		}
		request := wire.Listen(path, wire.Header(response, "mcp-session-id"))
		if i >= readers {
			p, err := wire.DialSmall(g.Inside)
			if err != nil {
				return h, err
			}
			h.closing = append(h.closing, p)
			if _, err := p.Ask(request, buf, wire.HeadEnds); err != nil {
				return h, err
			}
			continue
		}
		p, err := listening(g.Inside, request)
		if err != nil {
			return h, err
		}
		if err := h.AddReader(p, false); err != nil {
			return h, err
		}
	}
	return h, nil
}

// floorHub is the same, bare; there is a publisher for each of ways, which are queries of floor.TriggerPath.
func floorHub(f child.Addresses, window, readers int, ways ...string) (h *hub, publishers []wire.Peer, err error) {
	for _, way := range ways {
		p, err := upgraded(f.Plain, floor.TriggerPath+way)
		if err != nil {
			return nil, nil, err
		}
		publishers = append(publishers, p)
	}
	publication, err := load.NewFrame(notification(notificationText))
	if err != nil {
		return nil, nil, err
	}
	if h, err = newHub(publishers[0], publication, window); err != nil {
		return nil, nil, err
	}
	h.closing = publishers
	for range readers {
		p, err := listening(f.Plain, wire.Listen(floor.StreamPath, "x"))
		if err == nil {
			err = h.AddReader(p, false)
		}
		if err != nil {
			return h, nil, err
		}
	}
	return h, publishers, nil
}

// MeasureFanOut measures it; centrifugo may be empty.
func MeasureFanOut(p Plan, program, centrifugo string) (*FanOut, error) {
	out := &FanOut{Event: len("event: message\ndata: {\"jsonrpc\":\"2.0\",\n\n") + len(notification(notificationText)) - 1}
	p.Rounds, p.Measure = pick(p, 5, 3), pick(p, 700*time.Millisecond, p.Measure)
	one := []FanOutSize{{Streams: 1}, {Streams: 10}, {Streams: 100}, {Streams: 1000}, {Streams: 5000}}
	few := []FanOutSize{{Streams: 1}, {Streams: 100}, {Streams: 1000}}
	for _, size := range append(pick(p, one, few), FanOutSize{Streams: 1000, Window: burst}) {
		size.Window = max(size.Window, 1)
		if err := size.measure(p, program, centrifugo); err != nil {
			return nil, fmt.Errorf("%d streams: %w", size.Streams, err)
		}
		out.Sizes = append(out.Sizes, size)
	}
	return out, nil
}

// burst is a window in which notifications come faster than they are delivered.
const burst = 16

func (size *FanOutSize) measure(p Plan, program, centrifugo string) (err error) {
	if err := size.contest(p, program, centrifugo); err != nil {
		return err
	}
	size.PerNotification, err = perNotification(p, size.Window, size.Streams)
	return err
}

func (size *FanOutSize) contest(p Plan, program, centrifugo string) error {
	var s stage
	defer s.close()
	g, f := s.gateway(program), s.role("floor")
	if s.err != nil {
		return s.err
	}
	gateway, err := gatewayHub(g.Addresses, "fan", size.Window, size.Streams, 0)
	if gateway != nil {
		defer gateway.close()
	}
	if err != nil {
		return err
	}
	ways := []string{"", "?batch&halves"}
	if size.Window > 1 {
		ways = append(ways, "?batch")
	}
	bare, publishers, err := floorHub(f.Addresses, size.Window, size.Streams, ways...)
	if bare != nil {
		defer bare.close()
	}
	if err != nil {
		return err
	}
	entrants := []entrant{crewOf("gateway", gateway.Crew, g.PID())}
	for i, way := range ways {
		entrants = append(entrants, entrant{name: way, pids: []int{f.PID()}, run: func(p Plan, around func(bool) error) (load.Measured, error) {
			bare.Through(publishers[i])
			return bare.Run(p.Warm, p.Measure, around)
		}})
	}
	if centrifugo != "" {
		c, err := s.centrifugo(centrifugo)
		if err != nil {
			return err
		}
		h, err := centrifugoHub(c, size.Window, size.Streams)
		if h != nil {
			defer h.close()
		}
		if err != nil {
			return err
		}
		entrants = append(entrants, crewOf("Centrifugo", h.Crew, c.PID()))
	}
	got, err := contest(p, entrants...)
	if err != nil {
		return err
	}
	size.Gateway, size.Loop, size.Batch, size.Halves, size.Centrifugo = got["gateway"], got[""], got["?batch"], got["?batch&halves"], got["Centrifugo"]
	return dropped(g.Ops)
}

// perNotification asks a gateway that tells its allocations without making many itself.
func perNotification(p Plan, window, streams int) (float64, error) {
	var s stage
	defer s.close()
	g := s.role("gateway")
	if s.err != nil {
		return 0, s.err
	}
	h, err := gatewayHub(g.Addresses, "fan", window, streams, 0)
	if h != nil {
		defer h.close()
	}
	if err != nil {
		return 0, err
	}
	e := crewOf("gateway", h.Crew)
	e.mallocs = g.Mallocs
	p.Measure = pick(p, 2*time.Second, p.Measure) // what else is allocated must not count
	sample, err := e.sample(p)
	return max(0, sample.Allocs*float64(streams)), err
}

// dropped is an error if a gateway has dropped a message for a stream.
func dropped(ops string) error {
	samples, err := child.Metrics(ops)
	if err != nil {
		return err
	}
	for name, n := range samples {
		if n > 0 && (strings.HasPrefix(name, "gateway_notifications_dropped_total") || strings.HasPrefix(name, "gateway_notifications_coalesced_total")) {
			return fmt.Errorf("the run is void: %s is %v", name, n)
		}
	}
	return nil
}
