package mux

import (
	"errors"

	"github.com/diverge-network/gateway/pkg/codec"
)

var (
	// ErrUnknownChannel refuses an answer path (protocol A1: 404): the channel
	// was not announced with that kind, or is finished or lost.
	ErrUnknownChannel = errors.New("no such channel: it was not announced with this kind, is finished, or was lost with its /requests connection")
	// ErrPathOpen refuses an answer path (protocol A1: 409): it is open already.
	ErrPathOpen = errors.New("the path of this channel is already open")
)

// Socket is an answer path's connection as the mux sees it.
type Socket interface {
	// CloseUnserved closes the connection cleanly, without a message (protocol
	// A10). It is called at most once, with no lock held, possibly before Open
	// has returned; it must not block and must not call back. The path's end is
	// still to be reported.
	CloseUnserved()
}

// Path is the open answer path of one ask. Its methods are called by one
// goroutine at a time, the one that reads the connection; exactly one of Closed,
// Broke, TooBig and NoRoom ends it.
type Path struct {
	// Set before the path can be seen.
	ask       *Ask
	socket    Socket
	cancelled bool

	// Guarded by the container's lock; written by the path's own goroutine,
	// which therefore reads them without it.
	arrived bool
	ended   bool
}

// Open opens the answer path of a channel, before its upgrade: an upgrade that
// never completes is reported with Broke (protocol A5). It returns
// ErrUnknownChannel or ErrPathOpen when the path cannot be opened. An unknown
// channel, or one of another kind, is refused without taking a lock. container is
// borrowed until Open returns.
func (m *Mux) Open(container string, k codec.Kind, channel uint32, s Socket) (*Path, error) {
	c := m.Lookup(container)
	if c == nil {
		return nil, ErrUnknownChannel
	}
	a := m.channels.find(c.serial, channel)
	if a == nil || a.container != c || a.kind != k {
		return nil, ErrUnknownChannel
	}
	return a.open(channel, s)
}

func (a *Ask) open(channel uint32, s Socket) (*Path, error) {
	a.container.mu.Lock()
	defer a.container.mu.Unlock()
	if a.channel != channel {
		return nil, ErrUnknownChannel // finished, lost or asked again since it was found
	}
	if a.state == stateOpen {
		return nil, ErrPathOpen
	}
	p := a.spare
	if a.spare = nil; p == nil {
		p = new(Path)
	}
	p.ask, p.socket, p.cancelled = a, s, a.cancelled
	a.openLocked(p)
	return p, nil
}

// Kind returns the kind of the path's ask.
func (p *Path) Kind() codec.Kind { return p.ask.kind }

// Container returns the container whose ask this path answers.
func (p *Path) Container() *Container { return p.ask.container }

// Cancelled reports whether the ask was cancelled before the path opened: accept
// it, and close it cleanly at once (protocol A10).
func (p *Path) Cancelled() bool { return p.cancelled }

// Arrived says that a message has arrived on a path of kinds 0 to 3. It reports
// whether it is the first: a later one is to be ignored, and is counted here
// (protocol A8).
func (p *Path) Arrived() (first bool) {
	m := p.ask.container.mux
	if p.ask.kind.Many() {
		m.illegal("a message on a path of kind %v is a notification", p.ask.kind)
		return false
	}
	if p.arrived {
		m.counters.extraMessages.Add(1)
		return false
	}
	p.ask.container.mu.Lock()
	defer p.ask.container.mu.Unlock()
	p.arrived = true
	return true
}

// Closed says that the path was closed cleanly. message holds the bytes of the
// first message, if one has Arrived: the exchange is answered with it (protocol
// A4, A7); without one it was not served (A6). For kind 4 message is ignored
// (N4). The caller is settled before Closed returns.
func (p *Path) Closed(message []byte) { p.closed(message, nil) }

// ClosedWith is Closed with a message that is in a Buffer, which is lent to the
// caller: see Settlement.Frame. It is still to be released.
func (p *Path) ClosedWith(frame *codec.Buffer) { p.closed(frame.B, frame) }

func (p *Path) closed(message []byte, frame *codec.Buffer) {
	if p.ask.kind.Many() {
		p.endCleanly()
		return
	}
	s := Settlement{Outcome: NotServed}
	if p.arrived {
		s = decoded(p.ask.kind, message)
		s.Frame = frame
	}
	p.settle(s)
}

// decoded runs before the ask is finished, so that a failure of ours in it is an
// abrupt end and not a caller who is never told.
func decoded(k codec.Kind, message []byte) Settlement {
	answer, err := codec.DecodeAnswer(k, message)
	if err != nil {
		return Settlement{Outcome: Unreadable, Err: err}
	}
	return Settlement{Outcome: Answered, Answer: answer}
}

// TooBig says that we ended the path because a message was over the limit, in
// bytes (protocol W9): the caller is told, and the exchange is not asked again.
// For kind 4 it is the same as Broke.
func (p *Path) TooBig(limit int) {
	if p.ask.kind.Many() {
		p.Broke()
		return
	}
	p.settle(Settlement{Outcome: TooBig, Limit: limit})
}

// NoRoom says that we ended the path because a message could not be held, for the
// reason why: otherwise it is as TooBig.
func (p *Path) NoRoom(why error) {
	if p.ask.kind.Many() {
		p.Broke()
		return
	}
	p.settle(Settlement{Outcome: NoRoom, Err: why})
}

// Broke says that the path ended in any other way, or that its upgrade never
// completed: what it brought is discarded, and the exchange is asked again
// unless its caller has gone (protocol A4, A5, A10).
func (p *Path) Broke() {
	if line := p.breakUp(); line != nil {
		line.Flush()
	}
}

func (p *Path) settle(s Settlement) {
	if caller := p.finish(s.Outcome); caller != nil {
		caller.Settle(s)
	}
}

func (p *Path) finish(o Outcome) (owed Caller) {
	a := p.ask
	a.container.mu.Lock()
	defer a.container.mu.Unlock()
	if !p.endLocked() {
		return nil
	}
	counters := &a.container.mux.counters
	if owed = a.finishLocked(); owed != nil {
		counters.settled[a.kind][o].Add(1)
	} else if p.arrived {
		counters.droppedAnswers.Add(1)
	}
	return owed
}

func (p *Path) breakUp() (flush Line) {
	a := p.ask
	a.container.mu.Lock()
	defer a.container.mu.Unlock()
	if !p.endLocked() {
		return nil
	}
	if p.arrived {
		a.container.mux.counters.discardedMessages.Add(1)
	}
	if a.departed {
		a.finishLocked()
		return nil
	}
	return a.breakLocked()
}

// endLocked reports whether p still is its ask's path: not after Mux.Stop, nor
// after a kind-4 message that was the last (protocol N3).
func (p *Path) endLocked() bool {
	if p.ended {
		p.ask.container.mux.illegal("a path of kind %v ended twice", p.ask.kind)
		return false
	}
	p.ended = true
	return p.ask.path == p
}
