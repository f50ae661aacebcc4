//go:build !race

package keepalive

import (
	"testing"
	"time"
	"unsafe"
)

type silent struct{ Entry }

func (*silent) Beat(time.Time) {}

func TestAddBeatAndRemoveAllocateNothing(t *testing.T) {
	r := NewRing(period)
	s := &silent{}
	s.Beater = s
	now := time.Now()
	if n := testing.AllocsPerRun(1000, func() {
		r.Add(&s.Entry)
		r.beatSlot((r.next+slots-1)%slots, now)
		r.Remove(&s.Entry)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if size := unsafe.Sizeof(Entry{}); size > 32 {
		t.Errorf("an entry is %d bytes, want at most 32", size)
	}
}

func BenchmarkAddRemove(b *testing.B) {
	r := NewRing(period)
	s := &silent{}
	s.Beater = s
	for b.Loop() {
		r.Add(&s.Entry)
		r.Remove(&s.Entry)
	}
}

func BenchmarkBeat(b *testing.B) {
	r := NewRing(period)
	for range slots * 100 {
		s := &silent{}
		s.Beater = s
		r.Add(&s.Entry)
	}
	now := time.Now()
	for i := 0; b.Loop(); i++ {
		r.beatSlot(i%slots, now) // 100 beats
	}
}
