package stream

// CloseAfter gives m to this stream as its last message: nothing that is given
// later is taken, and once m is written the stream closes with reason. Until
// then it is open, and may be closed for another one, as by a later Close or a
// stall. m is never merged, and not lost for room: where there is none for it the
// stream closes with CloseFull or CloseTooBig. Without bytes it ends the stream
// behind what waits. CloseAfter never blocks and calls nobody back; on a stream
// that is closed, or has its last message, it does nothing.
func (s *Stream) CloseAfter(m Message, reason CloseReason) {
	m.Keep, m.Key = true, ""
	fits := len(m.Bytes) <= s.hub.config.bytes()
	s.mu.Lock()
	if !s.ending.CompareAndSwap(0, parting|uint32(reason)+1) {
		s.mu.Unlock()
		return
	}
	switch {
	case !fits:
		s.mu.Unlock()
		s.refuse(&m)
	case !s.busy:
		s.begin(1, len(m.Bytes))
		s.mu.Unlock()
		s.writeLast(m)
	case len(m.Bytes) == 0:
		s.mu.Unlock()
		s.counters().Sent.Add(1)
	default:
		_, full := s.admitAll([]Message{m})
		s.mu.Unlock()
		s.admitted(full)
	}
}

// writeLast writes the last message of a stream on which nothing waits.
func (s *Stream) writeLast(m Message) {
	var n int
	var err error
	if len(m.Bytes) > 0 {
		n, err = s.conn.TryWrite(m.Bytes)
	}
	if _, sent := s.gave([]Message{m}, m.Bytes, n, err); sent != 0 {
		s.counters().Sent.Add(1)
	}
}

// pause gives up the right to write, as nothing waits. The caller holds mu, and
// parts with the ending once it does not.
func (s *Stream) pause() (ending uint32) {
	s.backlog, s.busy = nil, false
	return s.ending.Load()
}

// part closes a stream whose last message was written when it paused.
func (s *Stream) part(ending uint32) {
	if ending&parting != 0 {
		s.abandon(CloseReason(ending&^parting - 1))
	}
}
