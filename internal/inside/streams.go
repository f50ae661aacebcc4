package inside

import "github.com/diverge-network/gateway/pkg/stream"

// open makes e the one stream of its session, and closes the one it had: that
// may be of a connection which died without telling. The old one is closed
// before the new one hears anything, so that no notification reaches the session
// twice (protocol N7). The error is errSessionEnded if the session was ended
// meanwhile, or errTooManyStreams; the place of the one it had is free.
//
// When it returns nil, somebody has to read from e until it ends.
func (f *Face) open(e *events) error {
	f.opening.Lock()
	defer f.opening.Unlock()
	old, err := f.enter(e)
	if err != nil {
		return err
	}
	if old != nil {
		old.stream.Close(stream.CloseReplaced)
	}
	e.stream = f.hub.Open(e, nil)
	e.stream.Send(openComment) // with it goes the head, at once
	e.handler.ring.Add(&e.beat)
	if !e.handler.roster.join(e) {
		e.shut()
	}
	return nil
}

// enter puts e into the place of its session's stream.
func (f *Face) enter(e *events) (old *events, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions.hasEnded(e.session) {
		return nil, errSessionEnded
	}
	if old = f.streams.get(e.session); old == nil && f.crammedLocked() {
		return nil, errTooManyStreams
	}
	f.streams.put(e)
	return old, nil
}

// closed takes a stream out that has ended. Until now it was a use of its session.
func (f *Face) closed(e *events) {
	if e.subscription != nil {
		f.unsubscribe(e)
		return
	}
	now := f.faces.now().UnixNano()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams.remove(e)
	if !f.sessions.hasEnded(e.session) {
		f.sessions.use(e.session, now)
	}
}

// shut closes a stream because the process stops.
func (f *Face) shut(e *events) {
	f.opening.Lock()
	defer f.opening.Unlock()
	e.shut()
}

// expel closes a stream because its token is no longer good.
func (f *Face) expel(e *events) {
	f.opening.Lock()
	defer f.opening.Unlock()
	e.end(stream.CloseToken)
}

// shut is Face.shut for who holds Face.opening.
func (e *events) shut() { e.end(stream.CloseShutdown) }

// end is for who holds Face.opening. A subscription is told that it is over.
func (e *events) end(why stream.CloseReason) {
	if s := e.subscription; s != nil {
		e.stream.CloseAfter(stream.Message{Bytes: s.end(e.handler.ours.serverInfo)}, why)
		return
	}
	e.stream.Close(why)
}

// end ends a session: its stream is closed, and its calls are left behind.
func (f *Face) end(s session) {
	f.opening.Lock()
	defer f.opening.Unlock()
	if e := f.forget(s); e != nil {
		e.stream.Close(stream.CloseEnded)
	}
}

// forget marks a session as ended and returns its stream, if it has one.
func (f *Face) forget(s session) *events {
	now := f.faces.now().UnixNano()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions.end(s, f.faces.lifetime, now)
	for c := range f.calls.all() {
		if c.key.session == s.id {
			c.tell(callEnded)
		}
	}
	e := f.streams.get(s.id)
	if e != nil {
		f.streams.remove(e)
	}
	return e
}
