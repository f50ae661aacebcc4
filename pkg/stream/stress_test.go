package stream

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// drip takes a random part of what it is offered, and more of it again when
// somebody waits in Write.
type drip struct {
	gate
	rng *rand.Rand
}

func (d *drip) TryWrite(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = d.rng.IntN(2 * len(p))
	return d.take(p)
}

func (d *drip) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = len(p)
	return d.take(p)
}

// TestN7_ManyPublishersKeepOrderAndCount has publishers, openings and closings at
// once, and checks each wire for order and at most once, and the counters for
// every message having ended somewhere.
func TestN7_ManyPublishersKeepOrderAndCount(t *testing.T) {
	const publishers, publications, streams = 4, 400, 12
	counters := new(Counters)
	h := NewHub(&Config{Messages: 16, Bytes: 1 << 10, Counters: counters})
	var told atomic.Int64
	var drips []*drip
	var mu sync.Mutex
	open := func(seed uint64) *Stream {
		d := &drip{rng: rand.New(rand.NewPCG(seed, 7))}
		d.changed = make(chan struct{})
		mu.Lock()
		drips = append(drips, d)
		mu.Unlock()
		return h.Open(d, func(*Stream, CloseReason) { told.Add(1) })
	}
	for i := range streams {
		open(uint64(i))
	}
	var given, opened atomic.Int64
	opened.Store(streams)
	var all sync.WaitGroup
	for p := range publishers {
		all.Go(func() {
			var batch Batch
			for i := range publications {
				var b [8]byte
				binary.BigEndian.PutUint32(b[:4], uint32(p))
				binary.BigEndian.PutUint32(b[4:], uint32(i))
				m := Message{Bytes: b[:]}
				if p%2 == 0 { // half of them publish one by one
					given.Add(int64(h.Publish(m)))
					continue
				}
				if batch.Add(m); i%7 == 0 {
					given.Add(int64(h.PublishBatch(&batch)))
					batch.Reset()
				}
			}
			h.PublishBatch(&batch)
		})
	}
	all.Go(func() {
		for i := range 100 {
			s := open(uint64(1000 + i))
			opened.Add(1)
			if i%2 == 0 {
				s.Close(CloseLeft)
			}
		}
	})
	all.Wait()
	h.Close(CloseShutdown)
	if told.Load() != opened.Load() {
		t.Errorf("%d callbacks for %d streams", told.Load(), opened.Load())
	}
	var written uint64
	for _, d := range drips {
		d.mu.Lock()
		written += wellOrdered(t, d.wire, publishers)
		d.mu.Unlock()
	}
	// A closing counts the messages in the flusher's hand as dropped, although they
	// may just have gone: as many as wait at most for each stream.
	if sent := counters.Sent.Load(); written < sent || written > sent+uint64(16*opened.Load()) {
		t.Errorf("%d counted as sent, %d on the wires", sent, written)
	}
	var ended uint64
	for i := range counters.Dropped {
		ended += counters.Dropped[i].Load()
	}
	if ended += counters.Sent.Load(); ended < uint64(given.Load()) {
		t.Errorf("%d taken, %d ended", given.Load(), ended)
	}
	atRest(t, counters)
}

// wellOrdered checks that each publisher's numbers rise, and returns how many
// whole messages there are.
func wellOrdered(t *testing.T, wire []byte, publishers int) (n uint64) {
	t.Helper()
	last := make([]int64, publishers)
	for i := range last {
		last[i] = -1
	}
	for ; len(wire) >= 8; wire = wire[8:] {
		p, i := binary.BigEndian.Uint32(wire), int64(binary.BigEndian.Uint32(wire[4:]))
		if int(p) >= publishers || i <= last[p] {
			t.Fatalf("publisher %d: %d after %d", p, i, last[min(int(p), publishers-1)])
		}
		last[p] = i
		n++
	}
	return n
}

// TestASendBesideACloseLeavesNothingQueued aims at the moment between a giver's
// first look at the stream and its taking the lock.
func TestASendBesideACloseLeavesNothingQueued(t *testing.T) {
	counters := new(Counters)
	h := NewHub(&Config{Messages: 2, Counters: counters})
	for range 1000 {
		s := h.Open(newGate(0), nil)
		s.Send(lossy("keeps it busy"))
		start, lost := make(chan struct{}), counters.Dropped[DropRoom].Load()
		var all sync.WaitGroup
		for range 4 { // which wait for the lock together with the closing
			all.Go(func() {
				<-start
				for s.Send(lossy("x")) {
				}
			})
		}
		all.Go(func() {
			<-start
			for counters.Dropped[DropRoom].Load() == lost {
				runtime.Gosched()
			}
			s.Close(CloseLeft)
		})
		close(start)
		all.Wait()
		if q := counters.Queued.Load(); q != 0 {
			t.Fatalf("%d queued on a closed stream", q)
		}
	}
	h.Close(CloseShutdown)
	atRest(t, counters)
}
