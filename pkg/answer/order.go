package answer

import (
	"slices"
	"time"
)

const (
	// orderWait bounds how long an answer waits for the notifications that were sent before it.
	orderWait = time.Second
	// arrivalLook is after how long it looks again for the first time; a socket does not tell when the peer has everything.
	arrivalLook = 50 * time.Microsecond
)

// landmark is how far the notifications of a path had come when an answer was ready.
type landmark struct {
	path     *path
	position uint64
}

// passed reports that the answer need not wait for the path's notifications any more.
func (l landmark) passed() bool { return l.path.over() || l.path.sock.Arrived(l.position) }

// tells has answers wait for what p, an open path of kind 4, has sent.
func (r *run) tells(p *path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.telling = append(r.telling, p)
}

func (r *run) told(p *path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.telling = slices.DeleteFunc(r.telling, func(q *path) bool { return q == p })
}

// untold is what the gateway does not have yet of the notifications sent so far.
func (r *run) untold() (ahead []landmark) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.telling {
		if l := (landmark{p, p.sock.Position()}); !l.passed() {
			ahead = append(ahead, l)
		}
	}
	return ahead
}

// follow waits until what was sent before p's answer has arrived, orderWait has passed or nobody waits for the answer:
// what a call says of its progress is on another connection, and would be overtaken.
func (p *path) follow() {
	ahead := p.run.untold()
	if len(ahead) == 0 {
		return
	}
	late := time.NewTimer(orderWait)
	defer late.Stop()
	wait := arrivalLook
	look := time.NewTimer(wait)
	defer look.Stop()
	for len(ahead) > 0 {
		select {
		case <-look.C:
		case <-late.C:
			return
		case <-p.alive.Done():
			return
		}
		ahead = slices.DeleteFunc(ahead, landmark.passed)
		wait = min(2*wait, unreadRetry)
		look.Reset(wait)
	}
}
