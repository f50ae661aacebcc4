package upstream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/diverge-network/gateway/pkg/stream"
)

// Bounds of what waits for one notifications path. An answer is never held up for long by a path that does not drain:
// beyond them the oldest notification is dropped, and counted.
const (
	feedMessages = 4096
	feedBytes    = 8 << 20
	// orderTimeout is how long an answer waits for the notifications that came before it.
	orderTimeout = time.Second
	// pathTimeout is how long calls with a progress token wait for the container's first path. A gateway asks for it
	// right behind the first ask (protocol N1); without the wait the progress of that one would be lost.
	pathTimeout = time.Second
)

// feed hands the server's notifications to the notifications paths that are open. Each path is a stream of the one hub, so
// that none can hold up the server or another path.
//
// Lock order: feed.mu, then the hub's and its streams' or path.mu. path.sending is taken while none of them is held.
type feed struct {
	hub      *stream.Hub
	counters *counters
	log      *slog.Logger

	// mu gives the notifications one order, the same on every path. Nothing blocks while it is held.
	mu        sync.Mutex
	published uint64 // notifications that were for every path
}

func (f *feed) init(c *counters, log *slog.Logger) {
	f.counters, f.log = c, log
	f.hub = stream.NewHub(&stream.Config{
		Messages: feedMessages,
		Bytes:    feedBytes,
		Counters: &c.paths,
		Panicked: func(value any, stack []byte) {
			log.Error("recovered from a panic", "panic", value, "stack", string(stack))
		},
	})
}

// open begins a path: it hears what is published from now on.
func (f *feed) open(s *seat, send func([]byte) error) *path {
	p := &path{seat: s, send: send, ended: make(chan struct{}), moved: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	p.passed = cursor{toAll: f.published, toOne: s.told}
	p.stream = f.hub.Open(p, func(*stream.Stream, stream.CloseReason) { close(p.ended) })
	s.paths = append(slices.Clip(s.paths), p)
	s.heard = true
	if s.opened != nil {
		close(s.opened)
		s.opened = nil
	}
	return p
}

// attended returns once the container has, or has had, a notifications path, or after pathTimeout, which begins with the
// first call that waits and comes but once.
func (f *feed) attended(ctx context.Context, s *seat) {
	f.mu.Lock()
	if s.heard {
		f.mu.Unlock()
		return
	}
	if s.opened == nil {
		s.opened, s.until = make(chan struct{}), time.Now().Add(pathTimeout)
	}
	opened, until := s.opened, s.until
	f.mu.Unlock()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-opened:
	case <-ctx.Done():
	case <-timer.C:
		f.mu.Lock()
		s.heard = true
		f.mu.Unlock()
	}
}

// close ends a path. Its send does not run any more when close returns, and will not run again.
func (f *feed) close(p *path) {
	p.stream.Close(stream.CloseEnded)
	f.mu.Lock()
	p.seat.paths = slices.DeleteFunc(slices.Clone(p.seat.paths), func(other *path) bool { return other == p })
	given := cursor{toAll: f.published, toOne: p.seat.told}
	f.mu.Unlock()
	p.finish(given)
}

// publish gives a notification to every path. It never blocks, nor does it keep notification.
func (f *feed) publish(notification []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.admit(notification, f.hub.Streams()) {
		return
	}
	f.published++
	f.hub.Publish(stream.Message{Bytes: newFrame(toAll, f.published, notification)})
}

// tell gives a notification to the paths of one container. It never blocks, nor does it keep notification.
func (f *feed) tell(s *seat, notification []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.admit(notification, len(s.paths)) {
		return
	}
	s.told++
	m := stream.Message{Bytes: newFrame(toOne, s.told, notification)}
	for _, p := range s.paths {
		p.stream.Send(m)
	}
}

func (f *feed) admit(notification []byte, paths int) bool {
	f.counters.notifications.Add(1)
	switch {
	case paths == 0:
		f.counters.unheard.Add(1)
		return false
	case len(notification) > feedBytes-headerSize:
		f.counters.dropped.Add(uint64(paths))
		f.log.Warn("dropped a notification of the MCP server: it is too big", "bytes", len(notification), "limit", feedBytes-headerSize)
		return false
	}
	return true
}

// flushed returns once the container's paths have passed on, or dropped, what they were given so far, or after
// orderTimeout: progress goes before the answer it belongs to.
func (f *feed) flushed(ctx context.Context, s *seat) {
	f.mu.Lock()
	paths := s.paths
	given := cursor{toAll: f.published, toOne: s.told}
	f.mu.Unlock()
	if !slices.ContainsFunc(paths, func(p *path) bool { return p.behind(given) != nil }) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	for _, p := range paths {
		for moved := p.behind(given); moved != nil; moved = p.behind(given) {
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}
}
