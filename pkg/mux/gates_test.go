//go:build !race

package mux

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// quiet is a line, a socket, a caller and a sink that cost nothing.
type quiet struct{ channel uint32 }

func (q *quiet) Announce(channel uint32, k codec.Kind, _ []byte) {
	if !k.Many() {
		q.channel = channel
	}
}
func (*quiet) Flush()                    {}
func (*quiet) Probe()                    {}
func (*quiet) CloseUnserved()            {}
func (*quiet) Settle(Settlement)         {}
func (*quiet) Notify(codec.Notification) {}

var (
	gatePayload = []byte(`{"name":"t"}`)
	gateResult  = []byte("\x00" + `{"content":[]}`)
)

// exchangeOnce is a whole exchange of a container with a live connection.
func exchangeOnce(m *Mux, c *Container, q *quiet) {
	c.Ask(codec.CallTool, gatePayload, q)
	p, err := m.Open(c.id, codec.CallTool, q.channel, q)
	if err != nil {
		panic(err)
	}
	p.Arrived()
	p.Closed(gateResult)
}

func attached(m *Mux, id string, q *quiet) *Container {
	c := m.Container(id)
	cl, err := c.Claim()
	if err != nil {
		panic(err)
	}
	cl.Attach(q)
	return c
}

// The ask, its row in the table and its path.
const exchangeAllocs = 3

func TestAllocationsOfAWholeExchange(t *testing.T) {
	m, q := New(Config{}), &quiet{}
	c := attached(m, "a", q)
	if n := testing.AllocsPerRun(1000, func() { exchangeOnce(m, c, q) }); n > exchangeAllocs {
		t.Fatalf("%v allocations per exchange, want at most %d", n, exchangeAllocs)
	}
}

func TestRefusalAndNotificationAllocateNothing(t *testing.T) {
	q := &quiet{}
	m := New(Config{NewSink: func(string) Sink { return q }})
	c := attached(m, "a", q)
	first := c.nextChannel
	exchangeOnce(m, c, q)
	if n := testing.AllocsPerRun(1000, func() { _, _ = m.Open("a", codec.CallTool, first, q) }); n != 0 {
		t.Fatalf("%v allocations per refused path", n)
	}
	p, err := m.Open("a", codec.Notifications, first+1, q)
	if err != nil {
		t.Fatal(err)
	}
	frame := notificationFrame(listChanged)
	if n := testing.AllocsPerRun(1000, func() { p.Notification(frame) }); n != 0 {
		t.Fatalf("%v allocations per notification", n)
	}
}

// idleContainerLimit is in bytes of heap: a container after traffic with its
// claim, its notifications path and its rows in both tables.
const idleContainerLimit = 1024

func TestIdleContainerCostsAtMost1KB(t *testing.T) {
	const containers = 10_000
	q := &quiet{}
	ids := make([]string, containers)
	for i := range ids {
		ids[i] = fmt.Sprintf("container-%06d", i)
	}
	before := heap()
	m := New(Config{NewSink: func(string) Sink { return q }})
	for _, id := range ids {
		c := attached(m, id, q)
		first := c.nextChannel
		exchangeOnce(m, c, q)
		p, err := m.Open(id, codec.Notifications, first+1, q)
		if err != nil {
			t.Fatal(err)
		}
		p.Notification(notificationFrame(listChanged))
	}
	each := (heap() - before) / containers
	t.Logf("%d bytes per idle container", each)
	if each > idleContainerLimit {
		t.Fatalf("an idle container costs %d bytes, want at most %d", each, idleContainerLimit)
	}
	if s := m.Stats(); s.Resident.Open != containers || s.Open != 0 {
		t.Fatalf("stats %+v", s)
	}
	runtime.KeepAlive(ids)
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func BenchmarkExchange(b *testing.B) {
	m, q := New(Config{}), &quiet{}
	c := attached(m, "a", q)
	b.ReportAllocs()
	for b.Loop() {
		exchangeOnce(m, c, q)
	}
}

// BenchmarkExchangeParallel has a container per goroutine: they share the tables
// and the counters.
func BenchmarkExchangeParallel(b *testing.B) {
	m := New(Config{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		q := &quiet{}
		c := attached(m, fmt.Sprintf("%p", q), q)
		for pb.Next() {
			exchangeOnce(m, c, q)
		}
	})
}
