package mux

import "github.com/puzpuzpuz/xsync/v3"

// channelTable holds every channel in use of every container: one table,
// because an empty one costs more than an idle container may. A look-up takes
// no lock. Rows are written under the lock of the container they belong to.
type channelTable struct {
	rows *xsync.MapOf[uint64, *Ask]
}

func newChannelTable(size int) channelTable {
	return channelTable{xsync.NewMapOfWithHasher[uint64, *Ask](mix, xsync.WithPresize(size), xsync.WithGrowOnly())}
}

func rowKey(serial, channel uint32) uint64 { return uint64(serial)<<32 | uint64(channel) }

// mix spreads a key over all bits of the hash (the finalizer of SplitMix64):
// the table uses its low seven bits apart from the rest.
func mix(key, seed uint64) uint64 {
	h := key ^ seed
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// find returns the ask that has the channel, or nil. The ask may have lost it by
// the time its container's lock is held.
func (t channelTable) find(serial, channel uint32) *Ask {
	a, _ := t.rows.Load(rowKey(serial, channel))
	return a
}

// take gives the channel to a, unless it is in use.
func (t channelTable) take(serial, channel uint32, a *Ask) bool {
	_, inUse := t.rows.LoadOrStore(rowKey(serial, channel), a)
	return !inUse
}

func (t channelTable) release(serial, channel uint32) {
	t.rows.Delete(rowKey(serial, channel))
}
