package mux

import (
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
)

// Notification takes a message of a kind-4 path, or several that came together:
// each is decoded, counted and handed to the container's Sink; one that cannot be
// decoded is dropped and counted (protocol N6). It reports whether one was the
// last: the channel is finished and what follows changes nothing (N3). The frames
// are borrowed until it returns.
func (p *Path) Notification(frames ...[]byte) (last bool) {
	c := p.ask.container
	if !p.ask.kind.Many() {
		c.mux.illegal("a notification on a path of kind %v", p.ask.kind)
		return false
	}
	d := decodings.Get().(*decoding)
	defer d.release()
	last = d.decode(frames)
	if !p.hear(false) {
		return true
	}
	counters := &c.mux.counters
	counters.undecodable.Add(int64(d.undecodable))
	if c.sink == nil {
		counters.unheard.Add(int64(len(d.all)))
	} else {
		counters.notifications.Add(int64(len(d.all)))
		d.handTo(c.sink)
	}
	if last {
		p.hear(true)
	}
	return last
}

// decoding is room for notifications that came together.
type decoding struct {
	all         []codec.Notification
	undecodable int
}

var decodings = sync.Pool{New: func() any { return new(decoding) }}

// keptDecodings is for how many notifications room is kept.
const keptDecodings = 64

func (d *decoding) release() {
	clear(d.all)
	d.all, d.undecodable = d.all[:0], 0
	if cap(d.all) <= keptDecodings {
		decodings.Put(d)
	}
}

// decode goes as far as to the last.
func (d *decoding) decode(frames [][]byte) (last bool) {
	for i := 0; i < len(frames) && !last; i++ {
		var n codec.Notification
		var err error
		n, last, err = codec.DecodeNotification(frames[i])
		switch {
		case err != nil:
			d.undecodable++
		case !last: // which is an error, for nobody but the counter
			d.all = append(d.all, n)
		}
	}
	return last
}

func (d *decoding) handTo(s Sink) {
	if together, ok := s.(BatchSink); ok && len(d.all) > 1 {
		together.NotifyAll(d.all)
		return
	}
	for _, n := range d.all {
		s.Notify(n)
	}
}

// hear reports whether p still is the container's notifications path, which the
// last message ends.
func (p *Path) hear(last bool) bool {
	c := p.ask.container
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.ask.path != p {
		return false
	}
	if last {
		c.mux.counters.errorEnds.Add(1)
		p.ask.unpathLocked(ReasonEnded)
	}
	return true
}

// endCleanly has the notifications asked for again on the next connection, and
// not on this one (protocol N4).
func (p *Path) endCleanly() {
	c := p.ask.container
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.endLocked() {
		p.ask.unpathLocked(ReasonEnded)
	}
}
