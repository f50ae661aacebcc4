package main

import "sync"

// numbers follows the numbered notifications that one container hears, from the first on.
type numbers struct {
	mu    sync.Mutex
	last  uint64
	fresh bool // none was heard on this connection yet
}

// heard is what a number means.
type heard struct {
	after    uint64 // the number before it; 0: none
	missed   uint64 // numbers between them
	fresh    bool   // it is the first on its connection, where missing some is natural
	disorder bool   // it does not ascend: it came twice, or late
}

// connected says that what follows comes on a new connection.
func (n *numbers) connected() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh = true
}

func (n *numbers) hear(number uint64) heard {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := heard{after: n.last, fresh: n.fresh, disorder: number <= n.last}
	n.fresh = false
	if h.disorder {
		return h
	}
	if n.last > 0 {
		h.missed = number - n.last - 1
	}
	n.last = number
	return h
}

// newest is the last number that was heard.
func (n *numbers) newest() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}
