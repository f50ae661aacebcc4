//go:build linux && !race

package outside

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/mux"
)

// What one idle socket, and what of one idle container lies in this half of the
// gateway, may cost in bytes of Go heap and stack.
const (
	mostPerSocket    = 3500
	mostPerContainer = 2 * mostPerSocket
)

func TestAnIdleSocketIsSmallAfterTraffic(t *testing.T) {
	const containers = 1000
	m := mux.New(mux.Config{NewSink: func(string) mux.Sink { return deaf{} }})
	to := serveBare(t, m)

	// What the first of everything costs is not what one more costs.
	warm := dialBare(t, to, "/containers/warm/requests")
	defer warm.close()
	exchange(t, m, to, "warm", warm).close()
	ids := make([]string, containers)
	for i := range ids {
		ids[i] = fmt.Sprintf("c%d", i)
		there(m.Container(ids[i]))
	}

	before := footprint()
	requests := make([]bare, containers)
	for i, id := range ids {
		requests[i] = dialBare(t, to, "/containers/"+id+"/requests")
		defer requests[i].close()
	}
	footprint() // a collection also settles how large a new goroutine's stack is
	for _, p := range requests {
		p.pingPong(t)
	}
	perSocket := (footprint() - before) / containers

	notifications := make([]bare, containers)
	for i, id := range ids {
		notifications[i] = exchange(t, m, to, id, requests[i])
		defer notifications[i].close()
	}
	footprint()
	for i, p := range notifications {
		p.send(t, wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: notification("m")})
		p.pingPong(t)
		requests[i].pingPong(t)
	}
	perContainer := (footprint() - before) / containers

	t.Logf("%d B per idle /requests socket, %d B per idle container with both sockets, without its state in the mux", perSocket, perContainer)
	if perSocket > mostPerSocket {
		t.Errorf("an idle /requests socket costs %d B, limit %d", perSocket, mostPerSocket)
	}
	if perContainer > mostPerContainer {
		t.Errorf("an idle container's sockets cost %d B, limit %d", perContainer, mostPerContainer)
	}
}

// mostAllocations is what one exchange may allocate: two objects and one more to
// read from for the descriptor, the answer path, the ask and its row in the
// channel table.
const mostAllocations = 6

func TestAnExchangeAllocatesLittle(t *testing.T) {
	m := mux.New(mux.Config{})
	e := newExchanger(t, m, serveBare(t, m), "c")
	if n := testing.AllocsPerRun(500, func() { e.once(t) }); n > mostAllocations {
		t.Errorf("%v allocations per exchange, limit %d", n, mostAllocations)
	} else {
		t.Logf("%v allocations per exchange", n)
	}
}

// footprint is the heap and the stacks in use, in bytes.
func footprint() int {
	var best runtime.MemStats
	for i := range 3 { // pools are emptied by the second collection
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		if i == 0 || now.HeapAlloc+now.StackInuse < best.HeapAlloc+best.StackInuse {
			best = now
		}
	}
	return int(best.HeapAlloc + best.StackInuse)
}
