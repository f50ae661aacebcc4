package stream

import (
	"errors"
	"os"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// pieceSize is how much is written under one deadline: small enough that a
// connection of which not even this gets out has stalled. It is the largest TLS
// record, since a TLS connection does not survive a deadline.
const pieceSize = 16 << 10

// runSize is how much of the messages that wait is joined into one write, and no
// more than half of what may wait: what is in hand cannot make room for what must
// not be lost.
const runSize = 16 << 10

// flush is the stream's flusher: it has the right to write until nothing waits,
// and ends then or with the stream. It is begun only by gave.
//
// It waits for the connection with the first message alone, so that what is behind
// that can still make room or be merged with. What follows goes out without
// waiting, for as long as the connection takes it.
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
		default:
			continue
		}
		// One message first: where the connection takes nothing without waiting,
		// more would be joined in vain.
		for most := 0; s.try(most); most = runSize {
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
	if b := s.backlog; b != nil && b.count > 0 {
		b.hold(1) // it may have come since the backlog was last empty
		rest := b.at(0).Bytes[b.written:]
		return rest[:min(len(rest), pieceSize)], 0, false
	}
	s.backlog = nil
	if deadline {
		return nil, 0, false
	}
	return nil, s.pause(), true
}

// try writes what waits, as far as it goes without waiting: one message, or as
// many as are at most so many bytes together. It reports whether all of that went
// out; a failure shows again at the next write.
func (s *Stream) try(most int) bool {
	run, joined := s.run(most)
	if joined != nil {
		defer joined.Release()
	}
	if len(run) == 0 {
		return false
	}
	n, _ := s.conn.TryWrite(run)
	s.wrote(n)
	return n == len(run)
}

// run takes messages in hand and returns their bytes, in a buffer if they are
// several; none if nothing waits or the stream is closed.
func (s *Stream) run(most int) (run []byte, joined *codec.Buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.backlog
	if b == nil || b.count == 0 {
		return nil, nil
	}
	run = b.at(0).Bytes[b.written:]
	n, size := 1, len(run)
	most = min(most, s.hub.config.bytes()/2)
	for n < min(b.count, s.hub.config.messages()/2) && size+len(b.at(n).Bytes) <= most {
		size += len(b.at(n).Bytes)
		n++
	}
	b.hold(n)
	if n == 1 {
		return run, nil
	}
	joined = codec.GetBuffer(size)
	joined.B = append(joined.B, run...)
	for i := 1; i < n; i++ {
		joined.B = append(joined.B, b.at(i).Bytes...)
	}
	return joined.B, joined
}

// wrote takes note of n bytes of what is in hand. A stream that was closed
// meanwhile has counted its messages as dropped.
func (s *Stream) wrote(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.backlog
	if b == nil {
		return
	}
	messages, bytes := 0, 0
	for n > 0 {
		size := len(b.at(0).Bytes)
		left := size - b.written
		if n < left {
			b.written += n
			break
		}
		n -= left
		b.pop()
		messages++
		bytes += size
	}
	b.hold(1)
	if messages > 0 {
		s.counters().Sent.Add(uint64(messages))
		s.counters().queued(-messages, -bytes)
	}
}
