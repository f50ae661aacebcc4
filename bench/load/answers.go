//go:build linux

package load

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/bench/wire"
)

// answer is one answer path from its connection to its Close: what a server does for each exchange.
type answer struct {
	far     wire.Far
	path    []byte
	request []byte
	frames  []byte // the answer
	opened  bool   // the 101 is here
	began   int64
	stamp   *stamp
	server  *answering

	// answered ends a visit, which has no Close; nil: it is an answer path.
	answered func([]byte) bool
}

// answering makes answers, and keeps those that are done for the next.
type answering struct {
	tally *tally
	to    *unix.SockaddrInet4
	free  []*answer
	ended func(*answer) error
}

// begin opens an answer path; a.path, a.frames and a.stamp must be set.
func (s *answering) begin(a *answer) error {
	a.request = wire.AppendUpgrade(a.request[:0], a.path)
	return s.connect(a)
}

func (s *answering) connect(a *answer) error {
	a.opened, a.began = false, wire.Clock()
	if err := s.tally.loop.Open(&a.far, s.to); err != nil {
		return fmt.Errorf("opening an answer path: %w", err)
	}
	return a.far.Send(a.request)
}

func (s *answering) take() *answer {
	if n := len(s.free); n > 0 {
		a := s.free[n-1]
		s.free = s.free[:n-1]
		return a
	}
	a := &answer{server: s}
	a.far.User = a
	return a
}

var switching = []byte("HTTP/1.1 101 ")

// Arrived implements wire.User.
func (a *answer) Arrived(f *wire.Far, b []byte) (done int, err error) {
	if a.answered != nil {
		if !a.answered(b) {
			return 0, nil
		}
		f.Close()
		return len(b), a.server.ended(a)
	}
	if !a.opened {
		head := bytes.Index(b, []byte("\r\n\r\n"))
		if head < 0 {
			return 0, nil
		}
		if !bytes.HasPrefix(b, switching) {
			return 0, fmt.Errorf("no upgrade of %s: %.200q", a.path, b)
		}
		a.opened = true
		if a.stamp != nil {
			a.stamp.answered.Store(wire.Now())
		}
		return head + 4, f.Send(a.frames)
	}
	op, _, rest, ok := wire.Unframe(b)
	if !ok {
		return 0, nil
	}
	if op != wire.OpClose {
		return 0, fmt.Errorf("a frame of opcode %d on an answer path", op)
	}
	f.Close()
	return len(b) - len(rest), a.server.ended(a)
}

// Ended implements wire.User.
func (a *answer) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("the answer path %s ended without a Close: %v", a.path, cause)
}

// again begins a piece of work with begin, and each time it has ended again, for as long as the crew is to work.
func (s *answering) again(begin func() error) {
	crew := s.tally.crew
	begins := func() error {
		crew.inFlight.Add(1)
		return begin()
	}
	s.ended = func(a *answer) error {
		s.tally.finished(a.began)
		crew.inFlight.Add(-1)
		if !crew.open.Load() {
			return nil
		}
		return begins()
	}
	crew.starts = append(crew.starts, begins)
}

// AddUpgrades has so many at once of: connect, upgrade, one message, Close, again and again. It is what a server does for
// each exchange, without a gateway.
func (c *Crew) AddUpgrades(addr, path string, frames []byte, atOnce int) error {
	to, err := wire.Address(addr)
	if err != nil {
		return err
	}
	for i := range atOnce {
		s := &answering{tally: c.at(i), to: to}
		a := s.take()
		a.path, a.frames = []byte(path), frames
		s.again(func() error { return s.begin(a) })
	}
	return nil
}

// AddVisits adds a client that connects, makes a request, waits until what it brings is answered, and leaves, again and again.
// Where there is a farewell, which holds a Close, the request is an upgrade, and the client waits for the Close.
func (c *Crew) AddVisits(addr string, request, farewell []byte, answered func([]byte) bool) error {
	to, err := wire.Address(addr)
	if err != nil {
		return err
	}
	s := &answering{tally: c.at(len(c.starts)), to: to}
	a := s.take()
	a.request, a.frames, a.answered = request, farewell, answered
	s.again(func() error { return s.connect(a) })
	return nil
}
