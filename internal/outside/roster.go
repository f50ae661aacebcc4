package outside

import (
	"net"
	"sync"
	"time"
)

// stopper ends a socket. Neither method blocks.
type stopper interface {
	stop() // the process stops: end the connection the way its path wants it
	cut()  // end the TCP connection now
}

// member is a socket's place in the roster. It is part of the socket, so that
// being listed allocates nothing.
type member struct {
	prev, next *member
	socket     stopper
	lingering  bool
}

// roster knows every connection of the listener, so that Shutdown can end them
// all and tell when the last one has gone. A connection is an arrival while HTTP
// is spoken on it, and a member once it is a WebSocket: never both, never neither.
type roster struct {
	mu       sync.Mutex
	arrivals map[net.Conn]struct{}
	members  member // sentinel of the ring of members
	count    int
	closing  bool
	empty    chan struct{} // closed when closing and nothing is left
}

func (r *roster) init() {
	r.arrivals = make(map[net.Conn]struct{})
	r.members.prev, r.members.next = &r.members, &r.members
	r.empty = make(chan struct{})
}

// arrive lists a connection. It returns false when none is taken any more.
func (r *roster) arrive(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closing {
		r.arrivals[c] = struct{}{}
	}
	return !r.closing
}

// depart takes an arrival off the list, and does nothing for any other.
func (r *roster) depart(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.arrivals[c]; ok {
		delete(r.arrivals, c)
		r.settle()
	}
}

// join makes an arrival a member. It returns false when none is taken any more;
// the arrival stays one then.
func (r *roster) join(m *member, arrival net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return false
	}
	delete(r.arrivals, arrival)
	m.prev, m.next = r.members.prev, &r.members
	m.prev.next, r.members.prev = m, m
	r.count++
	return true
}

// leave takes a socket off the list. It does nothing for one that is not on it.
func (r *roster) leave(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.next == nil {
		return
	}
	m.prev.next, m.next.prev = m.next, m.prev
	m.prev, m.next = nil, nil
	r.count--
	r.settle()
}

// settle is called under mu after something was taken off.
func (r *roster) settle() {
	if r.closing && r.count == 0 && len(r.arrivals) == 0 {
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

// close stops taking connections, and returns the arrivals.
func (r *roster) close() (arrivals []net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.arrivals {
		arrivals = append(arrivals, c)
	}
	if !r.closing {
		r.closing = true
		r.settle()
	}
	return arrivals
}

// all returns the members: those that are open, and those that linger.
func (r *roster) all() (open, lingering []*member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open = make([]*member, 0, r.count)
	for m := r.members.next; m != &r.members; m = m.next {
		if m.lingering {
			lingering = append(lingering, m)
		} else {
			open = append(open, m)
		}
	}
	return open, lingering
}
