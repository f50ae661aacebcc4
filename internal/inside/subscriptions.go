package inside

import (
	"sync/atomic"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/stream"
)

// subscriptions are the streams of one container that subscriptions/listen
// opened. Several of one client may coexist, each with an id and a filter of its
// own, so that nothing is shared between them but the hub's policy.
type subscriptions struct {
	hub *stream.Hub // which nothing is published on
	// open is replaced, never changed, so that publish takes no lock. It is set
	// under Face.mu.
	open atomic.Pointer[[]*events]
}

// publish gives a notification to those that asked for it, and returns how many took it.
func (s *subscriptions) publish(n codec.Notification) (streams int) {
	topic, open := topicOf(n), s.open.Load()
	if topic == 0 || open == nil {
		return 0
	}
	key := stream.KeyOf(n)
	for _, e := range *open {
		if e.subscription.topics&topic == 0 {
			continue
		}
		event := e.subscription.notification(n)
		if event != nil && e.stream.Send(stream.Message{Bytes: event, Key: key}) {
			streams++
		}
	}
	return streams
}

// subscribe opens the stream of a subscription. The error is errTooManyStreams.
// When it returns nil, somebody has to read from e until it ends.
func (f *Face) subscribe(e *events) error {
	f.opening.Lock()
	defer f.opening.Unlock()
	if !f.takeStream() {
		return errTooManyStreams
	}
	all := f.subscribed()
	// Whatever is written first has the acknowledgement in front of it.
	e.head = append(e.head, e.subscription.acknowledgement()...)
	e.stream = all.hub.Open(e, nil)
	f.changeSubscriptions(func(open []*events) []*events {
		return append(open[:len(open):len(open)], e)
	})
	e.stream.Send(openComment)
	e.handler.ring.Add(&e.beat)
	if !e.handler.roster.join(e) {
		e.shut()
	}
	return nil
}

// unsubscribe takes the stream of a subscription out that has ended.
func (f *Face) unsubscribe(e *events) {
	f.changeSubscriptions(func(open []*events) (kept []*events) {
		for _, other := range open {
			if other != e {
				kept = append(kept, other)
			}
		}
		return kept
	})
	f.leaveStream()
}

// subscribed makes the container's subscriptions if there are none yet.
func (f *Face) subscribed() *subscriptions {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.subscriptions.Load()
	if s == nil {
		s = &subscriptions{hub: stream.NewHub(f.faces.stream)}
		f.subscriptions.Store(s)
	}
	return s
}

func (f *Face) changeSubscriptions(change func([]*events) []*events) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.subscriptions.Load()
	var open []*events
	if old := s.open.Load(); old != nil {
		open = *old
	}
	if open = change(open); len(open) == 0 {
		s.open.Store(nil)
		return
	}
	s.open.Store(&open)
}
