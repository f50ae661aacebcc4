package stream

import (
	"errors"
	"os"
	"time"
)

// pieceSize is how much is written under one deadline: small enough that a
// connection of which not even this gets out has stalled. It is the largest TLS
// record, since a TLS connection does not survive a deadline.
const pieceSize = 16 << 10

// flush is the stream's flusher: it has the right to write until nothing waits,
// and ends then or with the stream. It is begun only by gave.
func (s *Stream) flush() {
	defer s.guard()
	deadline := false
	for {
		piece, ending, over := s.piece(deadline)
		switch {
		case over:
			s.part(ending)
			return
		case piece == nil:
			if err := s.conn.SetWriteDeadline(time.Time{}); err != nil {
				s.abandon(CloseFailed)
				return
			}
			deadline = false
			continue
		}
		if err := s.conn.SetWriteDeadline(time.Now().Add(s.hub.config.stall())); err != nil {
			s.abandon(CloseFailed)
			return
		}
		deadline = true
		n, err := s.conn.Write(piece)
		s.wrote(n)
		switch {
		case n == len(piece):
		case !errors.Is(err, os.ErrDeadlineExceeded):
			s.abandon(CloseFailed)
			return
		case n == 0:
			s.abandon(CloseStalled)
			return
		}
	}
}

// piece is what is to be written next. Without anything, it is over if no
// deadline is left to be cleared: the right to write is then given up, and the
// caller parts with the ending. It is over, too, when the stream is closed.
func (s *Stream) piece(deadline bool) (piece []byte, ending uint32, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over() {
		return nil, 0, true
	}
	b := s.backlog
	if b != nil && b.rest == nil {
		b.advance(s)
	}
	if b != nil && b.rest != nil {
		return b.rest[:min(len(b.rest), pieceSize)], 0, false
	}
	s.backlog = nil
	if deadline {
		return nil, 0, false
	}
	return nil, s.pause(), true
}

// wrote takes note of n bytes. A stream that was closed meanwhile has counted its
// message as dropped.
func (s *Stream) wrote(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.backlog
	if b == nil || n == 0 {
		return
	}
	b.rest = b.rest[n:]
	if len(b.rest) > 0 {
		return
	}
	s.counters().Sent.Add(1)
	s.counters().queued(-1, -s.writing)
	b.advance(s)
}
