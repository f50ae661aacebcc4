//go:build linux && !race

package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
	"github.com/diverge-network/gateway/bench/wire"
)

// The limits that a change may not cross. All but the last two are the same on every machine; the ratio compares what runs in turns on
// one, and has a wide margin.
const (
	allocationLimit   = 10       // of the gateway, per exchange
	fanOutLimit       = 8        // allocations of the gateway per notification, for 100 streams that keep up
	socketLimit       = 4 << 10  // heap and stack of an idle WebSocket with its container
	streamLimit       = 7 << 9   // of an idle event stream with its session
	containerLimit    = 10 << 10 // of an idle container: both sockets, an event stream, session and state
	leastOfFloor      = 0.4      // exchanges ÷ combined floor
	leastOfFanOut     = 0.3      // deliveries to 100 streams ÷ bare write loop
	gatedSockets      = 1000
	gatedContainers   = 500
	gatedRounds       = 5
	gatedMeasure      = 200 * time.Millisecond
	gatedAllocMeasure = 600 * time.Millisecond
)

func idleCost(t *testing.T, limit int64, n int, name string, open opener) {
	t.Helper()
	out := new(Idle)
	if err := out.measure("gateway", name, n, open); err != nil {
		t.Fatal(err)
	}
	c := out.Costs[0]
	t.Logf("%s: heap %d B, stack %d B, RSS %d B each", name, c.Heap, c.Stack, c.RSS)
	if c.Sum() > limit {
		t.Errorf("%s costs %d B of heap and stack; the limit is %d", name, c.Sum(), limit)
	}
}

func TestIdleSocketCostsAtMost4KB(t *testing.T) {
	idleCost(t, socketLimit, gatedSockets, IdleSocket, idleRequests)
}

func TestIdleEventStreamCostsAtMostThreeAndAHalfKB(t *testing.T) {
	idleCost(t, streamLimit, gatedSockets, IdleStream, idleStream)
}

func TestIdleContainerCostsAtMost10KB(t *testing.T) {
	idleCost(t, containerLimit, gatedContainers, IdleContainer, idleContainer)
}

func TestAllocationsOfAnExchange(t *testing.T) {
	var s stage
	defer s.close()
	g := s.gateway("")
	crew := s.exchanges(g.Addresses, "gate", 1, callers, floor.Result, false)
	if s.err != nil {
		t.Fatal(s.err)
	}
	e := crewOf("gateway", crew)
	e.mallocs = g.Mallocs
	sample, err := e.sample(Plan{Warm: gatedMeasure, Measure: gatedAllocMeasure})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f allocations", sample.Allocs)
	if sample.Allocs > allocationLimit {
		t.Errorf("an exchange allocates %.1f times in the gateway; the limit is %d", sample.Allocs, allocationLimit)
	}
}

func TestANotificationIsEncodedOnceForAllStreams(t *testing.T) {
	const streams = 100
	var s stage
	defer s.close()
	g := s.gateway("")
	if s.err != nil {
		t.Fatal(s.err)
	}
	h, err := gatewayHub(g.Addresses, "gate", 1, streams, 0)
	if h != nil {
		defer h.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	h.FanOut.Pace(200) // every stream has taken one before the next comes
	e := crewOf("gateway", h.Crew)
	e.mallocs = g.Mallocs
	sample, err := e.sample(Plan{Warm: gatedMeasure, Measure: gatedAllocMeasure})
	if err != nil {
		t.Fatal(err)
	}
	each := sample.Allocs * streams
	t.Logf("%.1f allocations", each)
	if each > fanOutLimit {
		t.Errorf("a notification for %d streams allocates %.1f times; the limit is %d", streams, each, fanOutLimit)
	}
}

func TestExchangesAreNotFarBelowTheFloor(t *testing.T) {
	var s stage
	defer s.close()
	g, f := s.gateway(""), s.role("floor")
	crew := s.exchanges(g.Addresses, "gate", 4, callers, floor.Result, false)
	posts := s.crew(newPosts(f.Plain, floor.PostPath, "", callers, false))
	upgrades := s.crew(newUpgrades(f.Plain, floor.AnswerPath, floor.Result, callers))
	if s.err != nil {
		t.Fatal(s.err)
	}
	got, err := contest(Plan{Rounds: gatedRounds, Warm: gatedMeasure / 4, Measure: gatedMeasure},
		crewOf("gateway", crew, g.PID()), crewOf("POST", posts, f.PID()), crewOf("upgrade", upgrades, f.PID()),
		frames("frame", f.Plain, loops, frameSize, f.PID()))
	if err != nil {
		t.Fatal(err)
	}
	atLeast(t, leastOfFloor, got["gateway"], combined("floor", got["POST"], got["upgrade"], got["frame"]))
}

func TestFanOutIsNotFarBelowTheFloor(t *testing.T) {
	const streams = 100
	var s stage
	defer s.close()
	g, f := s.gateway(""), s.role("floor")
	if s.err != nil {
		t.Fatal(s.err)
	}
	h, err := gatewayHub(g.Addresses, "gate", 1, streams, 0)
	if h != nil {
		defer h.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	bare, _, err := floorHub(f.Addresses, 1, streams, "")
	if bare != nil {
		defer bare.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := contest(Plan{Rounds: gatedRounds, Warm: gatedMeasure / 4, Measure: gatedMeasure}, crewOf("gateway", h.Crew, g.PID()), crewOf("loop", bare.Crew, f.PID()))
	if err != nil {
		t.Fatal(err)
	}
	atLeast(t, leastOfFanOut, got["gateway"], got["loop"])
	if err := dropped(g.Ops); err != nil {
		t.Error(err)
	}
}

// atLeast holds the better of two ratios against the least: of what was done in the same time, and of the processor time
// that it took. A gateway that has become slower is so in both; other work on the machine upsets the first.
func atLeast(t *testing.T, least float64, gateway, bare *Series) {
	t.Helper()
	done, used := Over(gateway, bare, Rate), Over(bare, gateway, CPU)
	t.Logf("%.2f of the floor (%.2f to %.2f); by processor time %.2f (%.2f to %.2f)", done.Median, done.Low, done.High, used.Median, used.Low, used.High)
	if max(done.Median, used.Median) < least {
		t.Errorf("it makes %.2f of the floor, and %.2f by processor time; the least is %.2f", done.Median, used.Median, least)
	}
}

// A run in which something is lost has to fail: the figures rest on it.
func TestAMissingNotificationVoidsTheRun(t *testing.T) {
	var s stage
	defer s.close()
	f := s.role("floor")
	if s.err != nil {
		t.Fatal(s.err)
	}
	h, _, err := floorHub(f.Addresses, 4, 3, "?batch")
	if h != nil {
		defer h.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(0, 20*time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	h.Skip()
	if _, err := h.Run(0, 20*time.Millisecond, nil); err == nil {
		t.Error("a notification was left out, and nobody noticed")
	}
}

func TestAWrongAnswerEndsTheRun(t *testing.T) {
	var s stage
	defer s.close()
	f := s.role("floor")
	if s.err != nil {
		t.Fatal(s.err)
	}
	crew := s.crew(load.NewCrew(1))
	for i, want := range []string{`"id":1`, `"id":7`} {
		request := load.Request{Bytes: wire.Post(floor.PostPath, "", wire.ToolCall(i)), Want: []byte(want)}
		if _, err := crew.AddCaller(f.Plain, []load.Request{request}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := crew.Run(0, 20*time.Millisecond, nil); err == nil {
		t.Error("an answer was another's, and nobody noticed")
	} else {
		t.Log(fmt.Sprint(err)[:60])
	}
}
