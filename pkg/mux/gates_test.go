//go:build !race

package mux

import (
	"fmt"
	"runtime"
	"testing"
	"time"

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
	cl, err := m.Claim(id)
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
	together := [][]byte{frame, frame, frame}
	if n := testing.AllocsPerRun(1000, func() { p.Notification(together...) }); n != 0 {
		t.Fatalf("%v allocations for notifications that came together", n)
	}
	if n := testing.AllocsPerRun(1000, func() { c.Drained() }); n != 0 {
		t.Fatalf("%v allocations per look at whether it is drained", n)
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

func TestEnteringAContainerAllocatesNothing(t *testing.T) {
	m := New(Config{Idle: time.Minute})
	m.Enter("a").Exit()
	if n := testing.AllocsPerRun(1000, func() { m.Enter("a").Exit() }); n != 0 {
		t.Fatalf("%v allocations per entry", n)
	}
}

// TestForgottenContainersCostNothing has ten times as many containers come and go
// as there are at a time.
func TestForgottenContainersCostNothing(t *testing.T) {
	const containers, rounds = 5000, 10
	q := &quiet{}
	now := time.Now()
	m := New(Config{Idle: time.Minute, Now: func() time.Time { return now }})
	round := func(n int) {
		for i := range containers {
			id := fmt.Sprintf("container-%d-%d", n, i)
			c := m.Enter(id)
			cl, err := m.Claim(id)
			if err != nil {
				t.Fatal(err)
			}
			cl.Attach(q)
			exchangeOnce(m, c, q)
			cl.Detach()
			c.Exit()
		}
		now = now.Add(time.Minute)
		m.Sweep()
	}
	round(0)
	before := heap()
	for n := range rounds {
		round(1 + n)
	}
	grown := int64(heap()) - int64(before)
	t.Logf("%d bytes more after %d containers", grown, rounds*containers)
	if s := m.Stats(); s.Containers != 0 || s.Resident != (ResidentStats{}) {
		t.Fatalf("stats %+v", s)
	}
	if most := int64(containers * rounds); grown > most {
		t.Fatalf("%d bytes more after %d containers came and went, want at most %d", grown, containers*rounds, most)
	}
	runtime.KeepAlive(m)
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// BenchmarkSweep is per container of which nothing is to be said.
func BenchmarkSweep(b *testing.B) {
	const containers = 10_000
	m := New(Config{Idle: time.Hour})
	for i := range containers {
		m.Enter(fmt.Sprintf("container-%06d", i)).Exit()
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Sweep()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/containers, "ns/container")
}

func BenchmarkEnterExit(b *testing.B) {
	m := New(Config{Idle: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		m.Enter("a").Exit()
	}
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
