package mux

import "github.com/diverge-network/gateway/pkg/codec"

// Notification takes one message of a kind-4 path: it is decoded, counted and
// handed to the container's Sink; one that cannot be decoded is dropped and
// counted (protocol N6). It reports whether the message was the last: the
// channel is finished and what follows changes nothing (N3). frame is borrowed
// until it returns.
func (p *Path) Notification(frame []byte) (last bool) {
	c := p.ask.container
	counters := &c.mux.counters
	if !p.ask.kind.Many() {
		c.mux.illegal("a notification on a path of kind %v", p.ask.kind)
		return false
	}
	n, last, err := codec.DecodeNotification(frame)
	if !p.hear(last) {
		return true
	}
	switch {
	case err != nil:
		counters.undecodable.Add(1)
	case last: // an error, which is for nobody but the counter
	case c.sink == nil:
		counters.unheard.Add(1)
	default:
		counters.notifications.Add(1)
		c.sink.Notify(n)
	}
	return last
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
