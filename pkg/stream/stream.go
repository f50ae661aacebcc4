package stream

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Stream is one listener of a hub. Its methods may be called from any goroutine,
// also after it is closed.
type Stream struct {
	hub     *Hub
	conn    Conn
	onClose func(*Stream, CloseReason)

	// ending is 0 while the stream takes messages, then 1 + the CloseReason, with
	// the bit parting while the last message is not written yet. A closing sets it
	// before it takes mu, so that who gives a message turns away without waiting
	// for that; CloseAfter sets parting under mu, so that nothing gets in behind
	// the last message.
	ending atomic.Uint32

	// busy says that one goroutine has the right to write: the giver of a message
	// or the flusher. Nothing waits while nobody is busy.
	busy bool
	// giving is how many messages a giver is writing, and givingBytes their size;
	// what the flusher writes is in the backlog.
	giving uint16
	// mu guards what is around it. It is held while memory is moved, never during
	// I/O, a callback, or together with another lock.
	mu          sync.Mutex
	givingBytes int
	// backlog is what waits: nil if nothing does, so that an idle stream is small.
	backlog *backlog
}

// parting in ending says that the stream closes once what waits is written.
const parting = 1 << 8

// Send gives m to this stream alone, in order with what is published, and
// reports whether it was taken: written, queued or merged. It never blocks.
func (s *Stream) Send(m Message) bool {
	one := [1]Message{m}
	took, sent := s.give(one[:], m.Bytes, s.hub.config.fit(one[:], m.Bytes))
	if sent != 0 {
		s.counters().Sent.Add(1)
	}
	return took
}

// Close closes the stream: frees what waits, closes the connection and tells the
// callback. The first reason counts; a later Close, or one beside it, does
// nothing and does not wait.
func (s *Stream) Close(reason CloseReason) {
	if s.end(reason) {
		s.finish(reason)
	}
}

// Closed reports whether the stream is closed, and why.
func (s *Stream) Closed() (reason CloseReason, closed bool) {
	ending := s.ending.Load()
	if ending == 0 || ending&parting != 0 {
		return 0, false
	}
	return CloseReason(ending - 1), true
}

// over is Closed without the reason.
func (s *Stream) over() bool {
	_, closed := s.Closed()
	return closed
}

func (s *Stream) counters() *Counters { return s.hub.config.counters() }

// abandon closes the stream for a goroutine that must neither block nor be called
// back: what can do either is left to a goroutine that ends with it.
func (s *Stream) abandon(reason CloseReason) {
	if s.end(reason) {
		go s.finishGuarded(reason)
	}
}

// end makes the stream closed and frees what waits. It is true once.
func (s *Stream) end(reason CloseReason) bool {
	for {
		ending := s.ending.Load()
		if ending != 0 && ending&parting == 0 {
			return false
		}
		if s.ending.CompareAndSwap(ending, uint32(reason)+1) {
			break
		}
	}
	s.mu.Lock()
	b := s.backlog
	s.backlog = nil
	messages, bytes := 0, 0
	if b != nil {
		messages, bytes = b.count, b.bytes
	}
	s.mu.Unlock()
	s.counters().queued(-messages, -bytes)
	s.counters().dropped(DropClosed, messages)
	return true
}

// finish is what follows end.
func (s *Stream) finish(reason CloseReason) {
	s.hub.remove(s)
	defer s.tell(reason) // Also where Close panics.
	// The stream is over, whatever its connection says to that.
	_ = s.conn.Close()
}

func (s *Stream) tell(reason CloseReason) {
	s.counters().Streams.Add(-1)
	s.counters().Closed[reason].Add(1)
	if s.onClose != nil {
		s.onClose(s, reason)
	}
}

func (s *Stream) finishGuarded(reason CloseReason) {
	defer s.guard()
	s.finish(reason)
}

func (s *Stream) closeGuarded(reason CloseReason) {
	defer s.guard()
	s.Close(reason)
}

// guard is deferred by every goroutine of this package: a panic in a Conn or a
// callback costs its stream and nothing else.
func (s *Stream) guard() {
	if v := recover(); v != nil {
		s.hub.config.panicked(v, debug.Stack())
		s.abandon(CloseFailed)
	}
}
