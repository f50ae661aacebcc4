package limit

import (
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Small is the capacity up to which a Buffer is not counted. What there is of
// those is bounded by the limits on what they belong to, and counting them would
// have every small exchange write to a cache line that all share.
const Small = 8 << 10

// The names of a Budget's limits: their flags' without the dashes.
const (
	Buffered      = "max-buffered"
	BufferedTotal = "max-buffered-total"
)

// Full is why bytes may not be held: which limit would be exceeded.
type Full struct {
	Name string // Buffered, or BufferedTotal
	Most int64  // in bytes
}

// Error says so in a sentence.
func (f *Full) Error() string {
	whose := "this container"
	if f.Name == BufferedTotal {
		whose = "all containers"
	}
	return "no room: " + strconv.FormatInt(f.Most, 10) + " bytes may be held for " + whose + " (--" + f.Name + ")"
}

// shards is how many locks the containers share.
const shards = 64

// Budget bounds the bytes that are held for each container and in all. It counts
// exactly: what a Buffer was charged with is given back with the Buffer. It never
// waits for room. A nil Budget bounds and counts nothing. Its methods may be called
// from many goroutines, and under any lock.
type Budget struct {
	container, all Full // the errors, with the limits; a limit of 0 is none
	seed           maphash.Seed

	_    [64]byte
	used atomic.Int64
	_    [64]byte

	shards [shards]shard
}

// shard holds the accounts of some containers.
type shard struct {
	mu       sync.Mutex // guards what follows; a leaf
	accounts map[string]*account
	idle     *account // one to be used again
}

// account is what is held for one container. It is there while that is anything.
type account struct {
	budget    *Budget
	shard     *shard
	container string
	used      int64 // guarded by shard.mu
}

// NewBudget returns a Budget of so many bytes for each container and for all of
// them together; 0 is any number.
func NewBudget(perContainer, total int64) *Budget {
	b := &Budget{
		container: Full{Name: Buffered, Most: perContainer},
		all:       Full{Name: BufferedTotal, Most: total},
		seed:      maphash.MakeSeed(),
	}
	for i := range b.shards {
		b.shards[i].accounts = make(map[string]*account)
	}
	return b
}

// Charge counts what buffer has grown to for a container, until that is given back,
// or says why it may not be held: then the buffer is charged with what it was, and
// is still to be given back.
func (b *Budget) Charge(container string, buffer *codec.Buffer) *Full {
	grown := cap(buffer.B) - buffer.Charged()
	if b == nil || cap(buffer.B) <= Small || grown <= 0 {
		return nil
	}
	account, full := b.take(container, int64(grown), false)
	if full != nil {
		return full
	}
	buffer.Charge(account, grown)
	return nil
}

// Force is Charge of a copy of what is counted already, which is not refused.
func (b *Budget) Force(container string, buffer *codec.Buffer) {
	grown := cap(buffer.B) - buffer.Charged()
	if b == nil || cap(buffer.B) <= Small || grown <= 0 {
		return
	}
	account, _ := b.take(container, int64(grown), true)
	buffer.Charge(account, grown)
}

func (b *Budget) take(container string, n int64, force bool) (*account, *Full) {
	s := &b.shards[maphash.String(b.seed, container)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[container]
	if most := b.container.Most; most > 0 && !force && n+usedOf(a) > most {
		return nil, &b.container
	}
	if !b.takeOfAll(n, force) {
		return nil, &b.all
	}
	if a == nil {
		a = s.open(b, container)
	}
	a.used += n
	return a, nil
}

func usedOf(a *account) int64 {
	if a == nil {
		return 0
	}
	return a.used
}

func (b *Budget) takeOfAll(n int64, force bool) bool {
	for {
		used := b.used.Load()
		if most := b.all.Most; most > 0 && !force && used+n > most {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// open makes an account. The caller holds mu.
func (s *shard) open(b *Budget, container string) *account {
	a := s.idle
	if s.idle = nil; a == nil {
		a = new(account)
	}
	a.budget, a.shard, a.container = b, s, container
	s.accounts[container] = a
	return a
}

// Free implements codec.Account.
func (a *account) Free(n int) {
	b, s := a.budget, a.shard
	b.used.Add(-int64(n))
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.used -= int64(n); a.used == 0 {
		delete(s.accounts, a.container)
		a.container = ""
		s.idle = a
	}
}

// Used is how many bytes are held for all containers together.
func (b *Budget) Used() int64 { return b.used.Load() }

// Fullest is how many are held for the container for which that is most.
func (b *Budget) Fullest() (most int64) {
	for i := range b.shards {
		most = max(most, b.shards[i].fullest())
	}
	return most
}

func (s *shard) fullest() (most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.accounts {
		most = max(most, a.used)
	}
	return most
}
