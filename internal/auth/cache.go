package auth

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
)

// What a cache holds at most. Each of its halves has half of it.
const (
	cacheTokens = 64 << 10
	cacheBytes  = 64 << 20
)

// cache remembers verified tokens. It has two halves: what is new, or was asked
// for, is in the young one, and when that is full it becomes the old one, whose
// own content is forgotten. Looking up takes no lock and allocates nothing. A
// token is found by a keyed hash and then compared whole.
type cache struct {
	seed  maphash.Seed
	young atomic.Pointer[half]
	old   atomic.Pointer[half]

	mu    sync.Mutex // held by those who store; guards what follows
	count int        // of the young half
	bytes int
}

type half = xsync.MapOf[uint64, *verified]

func newCache() *cache {
	c := &cache{seed: maphash.MakeSeed()}
	c.young.Store(xsync.NewMapOf[uint64, *verified]())
	c.old.Store(xsync.NewMapOf[uint64, *verified]())
	return c
}

func (c *cache) load(token []byte) *verified {
	hash := maphash.Bytes(c.seed, token)
	if v, ok := c.young.Load().Load(hash); ok && v.token == string(token) {
		return v
	}
	v, ok := c.old.Load().Load(hash)
	if !ok || v.token != string(token) {
		return nil
	}
	c.store(v)
	return v
}

func (c *cache) store(v *verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= cacheTokens/2 || c.bytes+len(v.token) > cacheBytes/2 {
		c.old.Store(c.young.Load())
		c.young.Store(xsync.NewMapOf[uint64, *verified]())
		c.count, c.bytes = 0, 0
	}
	c.young.Load().Store(maphash.String(c.seed, v.token), v)
	c.count++
	c.bytes += len(v.token)
}
