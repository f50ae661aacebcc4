package upstream

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// Bounds of what waits for one notifications path. An answer is never held up by a path that does not drain: beyond
// them the oldest notification is dropped, and counted.
const (
	feedMessages = 4096
	feedBytes    = 8 << 20
	// orderTimeout is how long an answer waits for the notifications that came before it.
	orderTimeout = time.Second
)

var (
	toolsChanged     = []byte(`{"method":"notifications/tools/list_changed"}`)
	resourcesChanged = []byte(`{"method":"notifications/resources/list_changed"}`)
)

// newNotification builds a notification from the parts the SDK's transport keeps; params stay as they came.
func newNotification(method string, params []byte) ([]byte, error) {
	quoted, err := json.Marshal(method)
	if err != nil {
		return nil, err
	}
	n := make([]byte, 0, len(`{"method":,"params":}`)+len(quoted)+len(params))
	n = append(n, `{"method":`...)
	n = append(n, quoted...)
	if len(params) != 0 {
		n = append(n, `,"params":`...)
		n = append(n, params...)
	}
	return append(n, '}'), nil
}

// feed hands the server's notifications to the notifications paths that are open: one, but for moments. Locks: feed.mu
// before listener.mu.
type feed struct {
	counters *counters

	mu        sync.Mutex
	listeners []*listener
}

// listener is the queue of one notifications path.
type listener struct {
	mu     sync.Mutex
	queue  [][]byte
	bytes  int
	queued uint64        // notifications ever queued
	passed uint64        // notifications sent or dropped; those in between wait, in order
	moved  chan struct{} // closed and replaced when passed grew and somebody waits
	waited bool
	ready  chan struct{} // a token: the queue is not empty
	gone   bool
}

func (f *feed) open() *listener {
	l := &listener{moved: make(chan struct{}), ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = append(f.listeners, l)
	return l
}

func (f *feed) close(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, other := range f.listeners {
		if other == l {
			f.listeners = append(f.listeners[:i:i], f.listeners[i+1:]...)
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	l.queue = nil
	close(l.moved)
	l.moved = make(chan struct{})
}

// publish never blocks. notification must not change any more.
func (f *feed) publish(notification []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counters.notifications.Add(1)
	if len(f.listeners) == 0 {
		f.counters.unheard.Add(1)
		return
	}
	for _, l := range f.listeners {
		f.counters.dropped.Add(uint64(l.put(notification)))
	}
}

// mark notes what every path still has to send. The zero mark waits for nothing.
func (f *feed) mark() (m mark) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.listeners {
		l.mu.Lock()
		if l.passed < l.queued {
			m = append(m, position{l, l.queued})
		}
		l.mu.Unlock()
	}
	return m
}

type position struct {
	listener *listener
	upTo     uint64
}

type mark []position

// wait returns once everything up to the mark has been sent, or after orderTimeout: progress goes before the answer it
// belongs to.
func (m mark) wait(ctx context.Context) {
	if len(m) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	for _, p := range m {
		for {
			p.listener.mu.Lock()
			done := p.listener.gone || p.listener.passed >= p.upTo
			moved := p.listener.moved
			p.listener.waited = p.listener.waited || !done
			p.listener.mu.Unlock()
			if done {
				break
			}
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (l *listener) put(notification []byte) (dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 && (len(l.queue) >= feedMessages || l.bytes+len(notification) > feedBytes) {
		l.bytes -= len(l.queue[0])
		l.queue[0] = nil
		l.queue = l.queue[1:]
		l.passed++
		dropped++
	}
	l.queue = append(l.queue, notification)
	l.bytes += len(notification)
	l.queued++
	select {
	case l.ready <- struct{}{}:
	default:
	}
	return dropped
}

// run sends what is queued until ctx ends (nil) or send fails.
func (l *listener) run(ctx context.Context, send func([]byte) error) error {
	for {
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil
		}
		for {
			next, ok := l.take()
			if !ok {
				break
			}
			if err := send(next); err != nil {
				return err
			}
			l.sent()
		}
	}
}

func (l *listener) take() ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.queue = nil
		return nil, false
	}
	next := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	l.bytes -= len(next)
	return next, true
}

func (l *listener) sent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passed++
	if l.waited {
		l.waited = false
		close(l.moved)
		l.moved = make(chan struct{})
	}
}
