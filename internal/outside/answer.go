package outside

import (
	"errors"
	"sync/atomic"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// How far an answer path has come; CloseUnserved may be called at any time.
const (
	answerOpening  = int32(iota) // a Close would go out ahead of the 101
	answerUnserved               // to be closed as soon as it may be
	answerServing
)

// answer is the answer path of one ask. It is its path's mux.Socket, and a
// mux.Drainer.
type answer struct {
	member
	handler *Handler
	conn    wsock.Conn
	path    *mux.Path
	many    bool          // the path is of notifications
	first   *codec.Buffer // the answer, until the path's end says whether it is one (protocol A4)
	phase   atomic.Int32
	came    *bundle // notifications that came together; nil where there are none
}

// openAnswer opens the answer path, or refuses it. From Open on the path must
// be ended, whatever happens (protocol A5): that is Ended's task once the socket
// is served, and done here before. A path of one message is returned, to be
// served.
func (a *arrival) openAnswer(t target, key []byte) (opened *answer) {
	h := a.handler
	s := &answer{handler: h, many: t.kind.Many()}
	s.member.socket = s
	s.conn.Init(&a.conn, a.early(), &h.sockets)
	if !h.roster.join(&s.member, a) {
		s.conn.Cut()
		return nil
	}
	serving := false
	defer func() {
		if !serving {
			defer h.roster.leave(&s.member)
			if s.path != nil {
				s.path.Broke()
				h.observer.SocketClosed(s.path.Kind().Name())
			}
		}
	}()
	path, err := h.mux.Open(t.borrowedID(), t.kind, t.channel, s)
	if err != nil {
		reason := ReasonUnknownChannel
		if errors.Is(err, mux.ErrPathOpen) {
			reason = ReasonPathOpen
		}
		a.refuse(reason, nil)
		return nil
	}
	s.path = path
	h.opened(path.Kind().Name(), path.Container().ID())
	if a.switchProtocols(key) != nil {
		s.conn.Cut()
		return nil
	}
	if path.Kind().Many() {
		serving = true
		s.conn.Serve(s)
		s.open()
		return nil
	}
	s.open()
	serving = true
	return s
}

// switchProtocols writes the 101.
func (a *arrival) switchProtocols(key []byte) error {
	response := codec.GetBuffer(switchingSize)
	defer response.Release()
	response.B = wsock.AppendSwitching(response.B, key)
	return writeAll(&a.conn, response.B)
}

// open ends the opening: from here on a Close may be sent.
func (s *answer) open() {
	if s.path.Cancelled() || !s.phase.CompareAndSwap(answerOpening, answerServing) {
		s.closeUnserved()
	}
}

// CloseUnserved implements mux.Socket.
func (s *answer) CloseUnserved() {
	if !s.phase.CompareAndSwap(answerOpening, answerUnserved) {
		s.closeUnserved()
	}
}

// Drained implements mux.Drainer.
func (s *answer) Drained() bool { return s.conn.Drained() }

func (s *answer) closeUnserved() { s.conn.Close(1000, "the ask was cancelled") }

// Message implements wsock.Handler.
func (s *answer) Message(b *codec.Buffer) *wsock.Violation {
	switch {
	case s.path.Kind().Many():
		s.gather(b)
	case s.path.Arrived():
		s.first = b
	default:
		b.Release()
	}
	return nil
}

// Ended implements wsock.Handler.
func (s *answer) Ended(e wsock.Ending) {
	defer s.handler.ended(&s.member, s.path.Kind().Name(), s.path.Container().ID(), e)
	if s.first != nil {
		defer s.first.Release()
	}
	switch {
	case e.TooBig:
		s.path.TooBig(s.handler.sockets.MaxMessage)
	case e.Clean:
		s.closed()
	default:
		s.path.Broke()
	}
}

// closed reports a clean end. A panic on the way to the caller makes it an
// abrupt one, for otherwise the caller might never be told.
func (s *answer) closed() {
	told := false
	defer func() {
		if !told {
			s.path.Broke()
		}
	}()
	if s.first != nil {
		s.path.ClosedWith(s.first)
	} else {
		s.path.Closed(nil)
	}
	told = true
}

// An answer path is never closed for a shutdown: a Close would state that the
// ask is not served (protocol A6).
func (s *answer) stop() { s.conn.Cut() }
func (s *answer) cut()  { s.conn.Cut() }

// expire ends a notifications path only: the others end with their answers, which
// somebody waits for.
func (s *answer) expire() {
	if s.many {
		s.conn.Cut()
	}
}
