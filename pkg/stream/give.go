package stream

// give takes in what it can of messages, which are tried in order; bytes are
// theirs. It reports whether that is anything, and how many were written whole;
// these the caller counts as sent. atOnce says that they fit together.
func (s *Stream) give(all []Message, bytes []byte, atOnce bool) (took bool, sent int) {
	if atOnce {
		return s.giveAtOnce(all, bytes)
	}
	for i := range all {
		one, n := s.giveOne(all[i : i+1])
		took = took || one
		sent += n
	}
	return took, sent
}

// merged counts messages that added nothing to others of their batch.
func (s *Stream) merged(n int) {
	if s.ending.Load() == 0 {
		s.counters().Coalesced.Add(uint64(n))
	}
}

// giveOne is for a message that may be of any size.
func (s *Stream) giveOne(m []Message) (took bool, sent int) {
	switch size := len(m[0].Bytes); {
	case s.ending.Load() != 0:
		return false, 0
	case size == 0: // There is nothing to be sent.
		return true, 1
	case size > s.hub.config.bytes():
		s.refuse(&m[0])
		return false, 0
	}
	return s.giveAtOnce(m, m[0].Bytes)
}

// giveAtOnce is for messages that fit in an empty queue together.
func (s *Stream) giveAtOnce(all []Message, bytes []byte) (took bool, sent int) {
	if s.ending.Load() != 0 {
		return false, 0
	}
	s.mu.Lock()
	switch {
	case s.ending.Load() != 0: // Looked at again: end takes what is queued only once.
		s.mu.Unlock()
		return false, 0
	case s.busy:
		took, full := s.admitAll(all)
		s.mu.Unlock()
		s.admitted(full)
		return took, 0
	}
	s.begin(len(all), len(bytes))
	s.mu.Unlock()
	n, err := s.conn.TryWrite(bytes)
	return s.gave(all, bytes, n, err)
}

// begin takes the right to write, for a giver, and sets room aside for what it
// writes. The caller holds mu, and nobody is busy.
func (s *Stream) begin(messages, bytes int) {
	s.busy, s.giving, s.givingBytes = true, uint16(messages), bytes
}

// gave ends a direct write, of which n bytes went out.
func (s *Stream) gave(all []Message, bytes []byte, n int, err error) (took bool, sent int) {
	if err != nil {
		s.abandon(CloseFailed)
	}
	sent, written := wholly(all, n)
	s.mu.Lock()
	s.giving, s.givingBytes = 0, 0
	if s.over() {
		s.mu.Unlock()
		s.counters().dropped(DropClosed, len(all)-sent)
		return sent > 0, sent
	}
	if sent == len(all) && (s.backlog == nil || s.backlog.count == 0) {
		ending := s.pause()
		s.mu.Unlock()
		s.part(ending)
		return true, sent
	}
	s.queueFirst(all[sent:], len(bytes)-n+written, written)
	s.mu.Unlock()
	go s.flush()
	return true, sent
}

// wholly is how many of the messages the first n of their bytes are all of, and
// how many bytes of the next one.
func wholly(all []Message, n int) (messages, written int) {
	for ; messages < len(all) && n >= len(all[messages].Bytes); messages++ {
		n -= len(all[messages].Bytes)
	}
	return messages, n
}

// queueFirst puts what a giver is left with ahead of what came meanwhile. Its room
// was set aside when its write began. The caller holds mu.
func (s *Stream) queueFirst(rest []Message, size, written int) {
	b := s.waiting()
	if len(rest) > 0 {
		b.grow(len(rest), s.hub.config.messages())
		b.unshift(rest, written)
		s.counters().queued(len(rest), size)
	}
	b.hold(1)
}

// waiting is the backlog, begun if there is none. The caller holds mu.
func (s *Stream) waiting() *backlog {
	if s.backlog == nil {
		s.backlog = new(backlog)
	}
	return s.backlog
}

// admitted is what follows admitAll, without mu.
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

// admitAll queues messages, each if there is room or room can be made; full says
// that one may not be lost and must be, which ends it. The caller holds mu, and
// somebody is busy.
func (s *Stream) admitAll(all []Message) (took, full bool) {
	var came change
	for i := range all {
		one, none := s.admit(&all[i], &came)
		took = took || one
		if none {
			full = true
			break
		}
	}
	came.count(s.counters())
	return took, full
}

// change is what admitting messages did to a queue, counted once for all.
type change struct{ messages, bytes, merged, lost int }

func (c *change) count(in *Counters) {
	if c.messages != 0 || c.bytes != 0 {
		in.queued(c.messages, c.bytes)
	}
	if c.merged != 0 {
		in.Coalesced.Add(uint64(c.merged))
	}
	in.dropped(DropRoom, c.lost)
}

func (s *Stream) admit(m *Message, came *change) (took, full bool) {
	b := s.waiting()
	if m.Key != "" && b.has(m.Key) {
		came.merged++
		return true, false
	}
	overMessages := b.count + int(s.giving) + 1 - s.hub.config.messages()
	overBytes := b.bytes + s.givingBytes + len(m.Bytes) - s.hub.config.bytes()
	if overMessages > b.lossy || overBytes > b.lossyBytes {
		if m.mayBeLost() {
			came.lost++
			return false, false
		}
		return false, true
	}
	for overMessages > 0 || overBytes > 0 {
		size := b.dropOldest()
		overMessages--
		overBytes -= size
		came.messages--
		came.bytes -= size
		came.lost++
	}
	b.grow(1, s.hub.config.messages())
	b.push(m)
	came.messages++
	came.bytes += len(m.Bytes)
	return true, false
}
