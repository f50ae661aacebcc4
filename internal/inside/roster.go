package inside

import (
	"net"
	"sync"
	"time"
)

// roster knows every connection of the listeners: those that speak HTTP, and
// those that became event streams.
type roster struct {
	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	streams events // sentinel of the ring of streams
	closing bool
	severed bool // and what still comes is cut
}

func (r *roster) init() {
	r.conns = make(map[net.Conn]struct{})
	r.streams.prev, r.streams.next = &r.streams, &r.streams
}

// arrive enters a connection; false if none is taken any more.
func (r *roster) arrive(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closing {
		r.conns[conn] = struct{}{}
	}
	return !r.closing
}

// depart takes a connection out that speaks HTTP no longer.
func (r *roster) depart(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
}

// join enters a stream, which leaves again in any case; false if it has to end
// at once.
func (r *roster) join(e *events) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.prev, e.next = r.streams.prev, &r.streams
	e.prev.next, e.next.prev = e, e
	if r.severed {
		_ = e.conn.Close()
	}
	return !r.closing
}

// leave takes a stream out that has joined.
func (r *roster) leave(e *events) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// close takes nothing new, ends every request that has not wholly arrived, and
// returns the open streams. Requests that have arrived go on.
func (r *roster) close() (open []*events) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	for conn := range r.conns {
		_ = conn.SetReadDeadline(longAgo) // fails only where the connection is closed already
	}
	return r.opened()
}

// open returns the open streams.
func (r *roster) open() []*events {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened()
}

// opened is open for who holds mu.
func (r *roster) opened() (open []*events) {
	for e := r.streams.next; e != &r.streams; e = e.next {
		open = append(open, e)
	}
	return open
}

// cut closes every connection, and tells how many there were.
func (r *roster) cut() (connections int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.severed = true
	connections = len(r.conns)
	for conn := range r.conns {
		_ = conn.Close()
	}
	for e := r.streams.next; e != &r.streams; e = e.next {
		_ = e.conn.Close() // it may still be waiting for its last message to be taken
		connections++
	}
	return connections
}
