package outside

import "sync/atomic"

// maxResting is how many goroutines rest at most.
const maxResting = 32

// crew is the goroutines that speak HTTP. One that is done with its connection
// rests until another comes: its stack has grown to what that takes, and growing
// a fresh one is a tenth of all that an exchange costs outside the kernel.
type crew struct {
	next    chan *arrival // unbuffered: taken by one who rests
	resting atomic.Int32
}

// serveArrival has somebody serve a.
func (h *Handler) serveArrival(a *arrival) {
	select {
	case h.crew.next <- a:
	default:
		h.running.Add(1)
		go h.work(a)
	}
}

// work is one of the crew.
func (h *Handler) work(a *arrival) {
	defer h.running.Done()
	for a != nil {
		a.speak()
		a = h.rest()
	}
}

// rest waits for the next arrival; it returns nil when there are enough who do,
// or during a shutdown.
func (h *Handler) rest() (a *arrival) {
	if h.crew.resting.Add(1) <= maxResting {
		select {
		case a = <-h.crew.next:
		case <-h.stopping:
		}
	}
	h.crew.resting.Add(-1)
	return a
}
