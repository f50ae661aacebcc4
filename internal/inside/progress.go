package inside

import (
	"bytes"
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Bounds of the progress that waits for one response.
const (
	maxProgress      = 256
	maxProgressBytes = 1 << 20
)

// progress hears a progress notification of the container. It goes to the
// request that asked for it and to nobody else (protocol N7). It never waits.
func (f *Face) progress(n codec.Notification) {
	l := f.tokens.find(n)
	if l == nil {
		f.faces.observer.Unheard(UnheardProgress)
		return
	}
	if len(n.Raw) > maxProgressBytes {
		f.faces.observer.Unheard(UnheardFull)
		return
	}
	event, err := l.event(n)
	if err != nil { // which only a notification that nobody checked brings about
		f.faces.observer.Unheard(UnheardProgress)
		return
	}
	taken, lost := l.queue.put(l, event)
	if !taken {
		f.faces.observer.Unheard(UnheardProgress)
	}
	for range lost {
		f.faces.observer.Unheard(UnheardFull)
	}
}

// listener is a call that asked for progress. It is of one call only, so that
// who found it too late finds that out.
type listener struct {
	wire  []byte // its token on the wire
	token []byte // the client's, raw JSON
	queue *queue // its response's
	over  bool   // guarded by queue.mu
}

// event makes n the event that the client gets: with its own token.
func (l *listener) event(n codec.Notification) ([]byte, error) {
	message := codec.GetBuffer(len(n.Raw) + len(l.token) + eventOverhead)
	defer message.Release()
	var err error
	if message.B, err = codec.AppendProgress(message.B, n, l.token); err != nil {
		return nil, err
	}
	return codec.AppendEvent(make([]byte, 0, len(message.B)+eventOverhead), message.B), nil
}

// queue is the progress that waits for one response to be written. Where it is
// full the oldest is lost: progress may be, the answer never.
type queue struct {
	wake chan struct{} // of capacity 1: something waits

	mu     sync.Mutex // guards what follows and listener.over; a leaf
	events [][]byte
	bytes  int
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// listener makes one; the client's token, which is borrowed, is cloned.
func (q *queue) listener(wire, token []byte) *listener {
	return &listener{wire: wire, token: bytes.Clone(token), queue: q}
}

// put adds an event of a listener; lost is how many made room for it.
func (q *queue) put(l *listener, event []byte) (taken bool, lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.over {
		return false, 0
	}
	for len(q.events) == maxProgress || len(q.events) > 0 && q.bytes+len(event) > maxProgressBytes {
		q.dropLocked()
		lost++
	}
	q.events = append(q.events, event)
	q.bytes += len(event)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true, lost
}

// leave ends what a listener hears.
func (q *queue) leave(l *listener) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.over = true
}

// take takes the oldest event out; nil if there is none.
func (q *queue) take() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == 0 {
		return nil
	}
	return q.dropLocked()
}

func (q *queue) dropLocked() []byte {
	first := q.events[0]
	q.events[0] = nil
	q.events = q.events[1:]
	q.bytes -= len(first)
	return first
}
