//go:build !race

package stream

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// ready is a connection that takes everything and keeps nothing.
type ready struct{}

func (ready) TryWrite(p []byte) (int, error)   { return len(p), nil }
func (ready) Write(p []byte) (int, error)      { return len(p), nil }
func (ready) SetWriteDeadline(time.Time) error { return nil }
func (ready) Close() error                     { return nil }

func TestPublishingToReadyStreamsAllocatesNothing(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1000} {
		h := NewHub(&Config{Counters: new(Counters)})
		for range n {
			h.Open(ready{}, nil)
		}
		m := keyed("k", "notification")
		if allocs := testing.AllocsPerRun(100, func() {
			if h.Publish(m) != n {
				t.Fatal("not all took it")
			}
		}); allocs != 0 {
			t.Errorf("%d streams: %v allocations", n, allocs)
		}
		h.Close(CloseShutdown)
	}
}

func TestABatchIsOneAllocationForAllStreams(t *testing.T) {
	for _, n := range []int{1, 10, 1000} {
		h := NewHub(&Config{Counters: new(Counters)})
		for range n {
			h.Open(ready{}, nil)
		}
		b := new(Batch)
		all := []Message{keyed("k", "notification"), lossy("another"), lossy("a third")}
		if allocs := testing.AllocsPerRun(100, func() {
			for _, m := range all {
				b.Add(m)
			}
			if h.PublishBatch(b) != n {
				t.Fatal("not all took it")
			}
			b.Reset()
		}); allocs != 1 {
			t.Errorf("%d streams: %v allocations", n, allocs)
		}
		h.Close(CloseShutdown)
	}
}

func TestQueueingOnASlowStreamAllocatesNothingMoreOnceItIsFull(t *testing.T) {
	h := NewHub(&Config{Messages: 16})
	g := newGate(0)
	s := h.Open(g, nil)
	m, merged := lossy("notification"), keyed("k", "merged")
	s.Send(merged)
	s.Send(merged)
	for range 20 {
		h.Publish(m)
	}
	if n := testing.AllocsPerRun(100, func() { h.Publish(m); h.Publish(merged) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	h.Close(CloseShutdown)
}

func TestAnIdleStreamIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Stream{}); n > 64 {
		t.Errorf("a Stream is %d bytes, want at most 64", n)
	}
	if n := unsafe.Sizeof(Hub{}); n > 32 {
		t.Errorf("a Hub is %d bytes, want at most 32", n)
	}
}

// Measured after traffic, in which each stream's queue was full once.
func TestAnIdleStreamHoldsNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		h := NewHub(&Config{})
		gates := make([]*gate, n)
		for i := range gates {
			gates[i] = newGate(0)
			h.Open(gates[i], nil)
		}
		m := lossy("some notification")
		before := heap()
		for range DefaultMessages {
			h.Publish(m)
		}
		full := heap()
		for _, g := range gates {
			g.grantAll()
		}
		synctest.Wait()
		for _, g := range gates {
			g.wire = nil
		}
		idle := heap()
		t.Logf("heap per stream: %d B full, %d B after", (full-before)/n, (idle-before)/n)
		if full-before < n*4096 {
			t.Errorf("a full queue weighs %d B: this test measures nothing", (full-before)/n)
		}
		if idle-before > n*600 { // what remains is the ended flusher's descriptor
			t.Errorf("an idle stream still holds %d B of its traffic", (idle-before)/n)
		}
		h.Close(CloseShutdown)
	})
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
