package outside

import (
	"sync"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
	"github.com/diverge-network/gateway/internal/sock"
)

// stopper ends a socket. Neither method blocks.
type stopper interface {
	stop() // the process stops: end the connection the way its path wants it
	cut()  // end the TCP connection now

	// expire ends what outlives its exchange, because its token is no longer good.
	expire()
}

// member is a place in the roster. It is part of what it stands for, so that
// being listed allocates nothing.
type member struct {
	prev, next *member
	socket     stopper
	identity   auth.Identity // who opened it. Once it is listed, of who judges it again
	lingering  bool
}

func (m *member) listed() bool { return m.next != nil }

// ring is a list of members, and its sentinel.
type ring struct {
	member
	count int
}

func (r *ring) init() { r.prev, r.next = &r.member, &r.member }

func (r *ring) add(m *member) {
	m.prev, m.next = r.prev, &r.member
	m.prev.next, r.prev = m, m
	r.count++
}

func (r *ring) remove(m *member) {
	m.prev.next, m.next.prev = m.next, m.prev
	m.prev, m.next = nil, nil
	r.count--
}

func (r *ring) all(yield func(*member) bool) {
	for m := r.next; m != &r.member && yield(m); m = m.next {
	}
}

// roster knows every connection of the listener, so that Shutdown can end them
// all and tell when the last one has gone. A connection is an arrival while HTTP
// is spoken on it, and a member once it is something else: never both, never
// neither.
type roster struct {
	mu       sync.Mutex
	arrivals ring
	members  ring
	closing  bool
	empty    chan struct{} // closed when closing and nothing is left
}

func (r *roster) init() {
	r.arrivals.init()
	r.members.init()
	r.empty = make(chan struct{})
}

// arrive lists an arrival. It returns false when none is taken any more.
func (r *roster) arrive(a *arrival) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closing {
		r.arrivals.add(&a.member)
	}
	return !r.closing
}

// depart takes an arrival off the list. It does nothing for one that is not on it.
func (r *roster) depart(a *arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.listed() {
		r.arrivals.remove(&a.member)
		r.settle()
	}
}

// secure has an arrival speak over conn, which is over what it had until now: under
// mu, for it may be cut meanwhile.
func (r *roster) secure(a *arrival, conn *sock.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.conn.Init(conn)
}

// join puts a member in its arrival's place. It returns false when none is taken
// any more; the arrival stays one then.
func (r *roster) join(m *member, a *arrival) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return false
	}
	m.identity = a.identity
	r.arrivals.remove(&a.member)
	r.members.add(m)
	return true
}

// leave takes a socket off the list. It does nothing for one that is not on it.
func (r *roster) leave(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.listed() {
		r.members.remove(m)
		r.settle()
	}
}

// settle is called under mu after something was taken off.
func (r *roster) settle() {
	if r.closing && r.members.count == 0 && r.arrivals.count == 0 {
		close(r.empty)
	}
}

// linger marks a socket that has ended, and whose peer is still being read for
// a while so that it sees why.
func (r *roster) linger(m *member) {
	r.mu.Lock()
	m.lingering = true
	r.mu.Unlock()
	time.AfterFunc(lingerWait, func() { r.leave(m) })
}

// close stops taking connections.
func (r *roster) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closing {
		r.closing = true
		r.settle()
	}
}

// cutArrivals closes the arrivals' connections: under mu, for an arrival that has
// left the list is another's.
func (r *roster) cutArrivals() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.arrivals.all {
		a.socket.cut()
	}
}

// all returns the members: those that are open, and those that linger.
func (r *roster) all() (open, lingering []*member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open = make([]*member, 0, r.members.count)
	for m := range r.members.all {
		if m.lingering {
			lingering = append(lingering, m)
		} else {
			open = append(open, m)
		}
	}
	return open, lingering
}
