package mux

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// The channel table against what else could hold it. Each round of a goroutine
// is the table's part of one exchange (take, find, find again, release) among a
// row per container that stays, as resident asks do.

type table interface {
	find(serial, channel uint32) *Ask
	take(serial, channel uint32, a *Ask) bool
	release(serial, channel uint32)
}

type syncTable struct{ rows sync.Map }

func (t *syncTable) find(serial, channel uint32) *Ask {
	a, _ := t.rows.Load(rowKey(serial, channel))
	ask, _ := a.(*Ask)
	return ask
}

func (t *syncTable) take(serial, channel uint32, a *Ask) bool {
	_, inUse := t.rows.LoadOrStore(rowKey(serial, channel), a)
	return !inUse
}

func (t *syncTable) release(serial, channel uint32) { t.rows.Delete(rowKey(serial, channel)) }

type lockedTable struct {
	mu   sync.RWMutex
	rows map[uint64]*Ask
}

func (t *lockedTable) find(serial, channel uint32) *Ask {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rows[rowKey(serial, channel)]
}

func (t *lockedTable) take(serial, channel uint32, a *Ask) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[rowKey(serial, channel)] != nil {
		return false
	}
	t.rows[rowKey(serial, channel)] = a
	return true
}

func (t *lockedTable) release(serial, channel uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, rowKey(serial, channel))
}

var tables = []struct {
	name string
	make func() table
}{
	{"xsync", func() table { return newChannelTable(presizedChannels) }},
	{"sync.Map", func() table { return &syncTable{} }},
	{"map+RWMutex", func() table { return &lockedTable{rows: make(map[uint64]*Ask, presizedChannels)} }},
}

func BenchmarkTable(b *testing.B) {
	for _, containers := range []uint32{1, 10, 100, 1000, 10_000, 100_000} {
		for _, kind := range tables {
			b.Run(fmt.Sprintf("containers=%d/%s", containers, kind.name), func(b *testing.B) {
				t := kind.make()
				for serial := range containers {
					t.take(serial, 1, &Ask{})
				}
				b.Run("exchange", func(b *testing.B) { exchangeOfTable(b, t, containers) })
				b.Run("refuse", func(b *testing.B) { refusalOfTable(b, t, containers) })
			})
		}
	}
}

func exchangeOfTable(b *testing.B, t table, containers uint32) {
	var goroutines atomic.Uint32
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		// Channels of its own, so that goroutines that share a container do not take each other's.
		serial, channel, a := rand.Uint32N(containers), goroutines.Add(1)<<26, &Ask{}
		for pb.Next() {
			if !t.take(serial, channel, a) {
				panic("a channel is taken twice")
			}
			if t.find(serial, channel) == nil || t.find(serial, 1) == nil {
				panic("a row is missing")
			}
			t.release(serial, channel)
			channel++
			if serial++; serial == containers {
				serial = 0
			}
		}
	})
}

func refusalOfTable(b *testing.B, t table, containers uint32) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		channel := uint32(1 << 20)
		for pb.Next() {
			if channel++; t.find(channel%containers, channel) != nil {
				panic("a row too many")
			}
		}
	})
}

func TestTablesAgree(t *testing.T) {
	var all []table
	for _, kind := range tables {
		all = append(all, kind.make())
	}
	random := rand.New(rand.NewPCG(1, 2))
	asks := [4]*Ask{{}, {}, {}, {}}
	for range 20_000 {
		serial, channel, a := random.Uint32N(5), 1<<31+random.Uint32N(40), asks[random.IntN(4)]
		what := random.IntN(3)
		for _, other := range all[1:] {
			if other.find(serial, channel) != all[0].find(serial, channel) {
				t.Fatalf("the tables disagree on %d of %d", channel, serial)
			}
		}
		var first bool
		for i, table := range all {
			switch what {
			case 0:
				table.release(serial, channel)
			default:
				if taken := table.take(serial, channel, a); i == 0 {
					first = taken
				} else if taken != first {
					t.Fatalf("the tables disagree on taking %d of %d", channel, serial)
				}
			}
		}
	}
}
