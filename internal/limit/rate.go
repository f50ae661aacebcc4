package limit

import (
	"net/netip"
	"sync"
	"time"
)

// maxAddresses is how many addresses a Rate knows at most. One more makes it
// forget another, which may then begin anew.
const maxAddresses = 1 << 16

// ConnectionsPerSecond is the name of a Rate's limit: its flag's without the dashes.
const ConnectionsPerSecond = "max-connections-per-second"

// Rate bounds how many connections an address may make in a second: each has a
// bucket of as many tokens as it may make in one, which fills as fast. An IPv6
// address is taken for its network of 64 bits, of which a host has all. Its methods
// may be called from many goroutines.
type Rate struct {
	step int64 // nanoseconds between two connections
	most int   // addresses

	mu    sync.Mutex         // guards what follows; a leaf
	full  map[[16]byte]int64 // when the bucket of an address is full again, in nanoseconds of now; absent: it is
	swept int64              // when the full ones were taken out last
}

// NewRate returns a Rate of so many connections a second, at least 1.
func NewRate(perSecond int) *Rate {
	return &Rate{step: int64(time.Second) / int64(perSecond), most: maxAddresses, full: make(map[[16]byte]int64)}
}

// Admit reports whether the address may make a connection now, and counts it.
// Loopback always may, and an address that is not known.
func (r *Rate) Admit(from netip.Addr, now time.Time) bool {
	from = from.Unmap()
	if !from.IsValid() || from.IsLoopback() {
		return true
	}
	return r.admit(network(from), now.UnixNano())
}

// network is the key of an address.
func network(from netip.Addr) (key [16]byte) {
	key = from.As16()
	if from.Is6() {
		clear(key[8:])
	}
	return key
}

func (r *Rate) admit(key [16]byte, now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.full[key]
	at = max(at, now) + r.step
	if at-now > int64(time.Second) {
		return false
	}
	if !known && len(r.full) >= r.most {
		r.forget(now)
	}
	r.full[key] = at
	return true
}

// forget makes room for an address: takes out those whose buckets are full, which
// costs a look at all of them, and so is done once a second; or else any one. The
// caller holds mu.
func (r *Rate) forget(now int64) {
	if now-r.swept >= int64(time.Second) {
		r.swept = now
		for key, at := range r.full {
			if at <= now {
				delete(r.full, key)
			}
		}
	}
	for key := range r.full {
		if len(r.full) < r.most {
			return
		}
		delete(r.full, key)
	}
}

// Addresses is how many are known.
func (r *Rate) Addresses() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.full)
}
