package stream

import (
	"sync"
	"sync/atomic"
)

// Hub has the open streams of one container. Its methods may be called from any
// goroutine.
//
// Lock order: there is none to keep. Hub.mu and Stream.mu are never held
// together, and neither during I/O or a callback.
type Hub struct {
	config *Config
	// streams is replaced, never changed, so that Publish reads it without mu.
	// Nil: there are none.
	streams atomic.Pointer[[]*Stream]

	// mu orders the replacements of streams. Publish does not take it.
	mu     sync.Mutex
	closed bool
	reason CloseReason // why closed
}

// NewHub returns a hub without streams. It panics if config.Check fails.
func NewHub(config *Config) *Hub {
	if err := config.Check(); err != nil {
		panic(err)
	}
	return &Hub{config: config}
}

// Publish gives m to every open stream and returns how many took it: wrote,
// queued or merged it. It never blocks, and takes no lock that is held by an
// opening, a closing or another hub. Publications of one goroutine reach each
// stream in order (protocol N7).
func (h *Hub) Publish(m Message) (streams int) {
	one := [1]Message{m}
	return h.publish(one[:], m.Bytes, 0)
}

// publish gives messages, whose bytes lie one after the other, to every stream.
// merged more of them added nothing.
func (h *Hub) publish(all []Message, bytes []byte, merged int) (streams int) {
	list := h.streams.Load()
	if list == nil {
		return 0
	}
	atOnce := h.config.fit(all, bytes)
	sent := 0
	for _, s := range *list {
		if merged != 0 {
			s.merged(merged)
		}
		took, wrote := s.give(all, bytes, atOnce)
		if took {
			streams++
		}
		sent += wrote
	}
	// Once for all: a thousand streams would fight over the counter.
	if sent != 0 {
		h.config.counters().Sent.Add(uint64(sent))
	}
	return streams
}

// Streams is how many are open.
func (h *Hub) Streams() int {
	list := h.streams.Load()
	if list == nil {
		return 0
	}
	return len(*list)
}

// Open begins a stream over conn, which the stream closes when it is closed. It
// hears what is published after Open returned. onClose, which may be nil, is
// told exactly once that the stream is closed and why; it runs without any lock,
// perhaps before Open returns, and must not wait for what waits for the closing.
// A closed hub opens streams that are closed already.
func (h *Hub) Open(conn Conn, onClose func(*Stream, CloseReason)) *Stream {
	s := &Stream{hub: h, conn: conn, onClose: onClose}
	h.config.counters().Streams.Add(1)
	if closed, reason := h.add(s); closed {
		s.Close(reason)
	}
	return s
}

// Close closes every stream and waits until their callbacks have been told, but
// not for streams that somebody else is closing. The hub opens no more.
func (h *Hub) Close(reason CloseReason) {
	h.mu.Lock()
	if !h.closed {
		h.closed, h.reason = true, reason
	}
	list := h.streams.Swap(nil)
	h.mu.Unlock()
	if list == nil {
		return
	}
	var told sync.WaitGroup
	for _, s := range *list {
		// A connection may take its time to close; the others do not wait for it.
		told.Go(func() { s.closeGuarded(reason) })
	}
	told.Wait()
}

func (h *Hub) add(s *Stream) (closed bool, reason CloseReason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return true, h.reason
	}
	var old []*Stream
	if list := h.streams.Load(); list != nil {
		old = *list
	}
	list := make([]*Stream, len(old)+1)
	copy(list, old)
	list[len(old)] = s
	h.streams.Store(&list)
	return false, 0
}

// remove takes s from the list, if it is there.
func (h *Hub) remove(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.streams.Load()
	if old == nil {
		return
	}
	for i, other := range *old {
		if other != s {
			continue
		}
		if len(*old) == 1 {
			h.streams.Store(nil)
			return
		}
		list := make([]*Stream, 0, len(*old)-1)
		list = append(append(list, (*old)[:i]...), (*old)[i+1:]...)
		h.streams.Store(&list)
		return
	}
}
