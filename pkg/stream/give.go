package stream

// give takes m in, or not, and reports whether it did. wrote says that it was
// written whole; then the caller counts it as sent.
func (s *Stream) give(m *Message) (took, wrote bool) {
	switch {
	case s.ending.Load() != 0:
		return false, false
	case len(m.Bytes) == 0: // There is nothing to be sent.
		return true, true
	case len(m.Bytes) > s.hub.config.bytes():
		s.refuse(m)
		return false, false
	}
	s.mu.Lock()
	switch {
	case s.ending.Load() != 0: // Looked at again: end takes what is queued only once.
		s.mu.Unlock()
		return false, false
	case s.busy:
		took, full := s.admit(m)
		s.mu.Unlock()
		s.admitted(full)
		return took, false
	}
	s.busy, s.writing = true, len(m.Bytes)
	s.mu.Unlock()
	n, err := s.conn.TryWrite(m.Bytes)
	return s.gave(m, n, err)
}

// gave ends a direct write.
func (s *Stream) gave(m *Message, n int, err error) (took, wrote bool) {
	if err != nil {
		s.abandon(CloseFailed)
	}
	whole := n == len(m.Bytes)
	s.mu.Lock()
	if s.over() {
		s.mu.Unlock()
		if !whole {
			s.counters().dropped(DropClosed, 1)
		}
		return whole, whole
	}
	if whole && (s.backlog == nil || s.backlog.count == 0) {
		ending := s.pause()
		s.mu.Unlock()
		s.part(ending)
		return true, true
	}
	b := s.waiting()
	if whole {
		b.advance(s)
	} else {
		// Its room was set aside when the write began.
		b.rest = m.Bytes[n:]
		s.counters().queued(1, len(m.Bytes))
	}
	s.mu.Unlock()
	go s.flush()
	return true, whole
}

// waiting is the backlog, begun if there is none. The caller holds mu.
func (s *Stream) waiting() *backlog {
	if s.backlog == nil {
		s.backlog = new(backlog)
	}
	return s.backlog
}

// advance takes the next message in hand. The caller holds s.mu.
func (b *backlog) advance(s *Stream) {
	if b.count == 0 {
		b.rest, s.writing = nil, noMessage
		return
	}
	m := b.pop()
	b.rest, s.writing = m.Bytes, len(m.Bytes)
}

// admitted is what follows admit, without mu.
func (s *Stream) admitted(full bool) {
	if full {
		s.counters().dropped(DropClosed, 1)
		s.abandon(CloseFull)
	}
}

// refuse is for a message that no queue could hold.
func (s *Stream) refuse(m *Message) {
	s.counters().dropped(DropTooBig, 1)
	if !m.mayBeLost() {
		s.abandon(CloseTooBig)
	}
}

// admit queues m if there is room or room can be made; full says that m may not
// be lost and must be. The caller holds mu, and somebody is busy.
func (s *Stream) admit(m *Message) (took, full bool) {
	b := s.waiting()
	if m.Key != "" && b.has(m.Key) {
		s.counters().Coalesced.Add(1)
		return true, false
	}
	messages, bytes := b.count, b.bytes
	if s.writing != noMessage {
		messages++
		bytes += s.writing
	}
	overMessages := messages + 1 - s.hub.config.messages()
	overBytes := bytes + len(m.Bytes) - s.hub.config.bytes()
	if overMessages > b.lossy || overBytes > b.lossyBytes {
		if m.mayBeLost() {
			s.counters().dropped(DropRoom, 1)
			return false, false
		}
		return false, true
	}
	for overMessages > 0 || overBytes > 0 {
		size := b.dropOldest()
		overMessages--
		overBytes -= size
		s.counters().queued(-1, -size)
		s.counters().dropped(DropRoom, 1)
	}
	b.push(m, s.hub.config.messages())
	s.counters().queued(1, len(m.Bytes))
	return true, false
}
