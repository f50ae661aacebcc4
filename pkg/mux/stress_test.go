package mux

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// The stress test: containers whose callers ask, leave and cancel, and whose
// servers connect, answer, refuse, break and reconnect, all at once. Every caller
// is told exactly once, and with its own answer. Run it with -race: callers
// overwrite what was borrowed from them as soon as they may.

const (
	stressContainers = 4
	stressCallers    = 8
	stressAsks       = 150
)

func TestEveryCallerIsSettledOnceWithItsOwnAnswerUnderStress(t *testing.T) {
	for name, c := range map[string]struct {
		reaskAfter time.Duration
		stopAfter  int64 // asks
	}{
		"at once":            {0, -1},
		"never":              {Never, -1},
		"after 50 µs":        {50 * time.Microsecond, -1},
		"stop in the middle": {50 * time.Microsecond, stressContainers * stressCallers * stressAsks / 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMux(Config{
				ReaskAfter: c.reaskAfter,
				NewSink:    func(string) Sink { return &countingSink{} },
			}, 64, 64)
			var made atomic.Int64
			asked := func() {
				if made.Add(1) == c.stopAfter {
					m.Stop()
				}
			}
			done := make(chan struct{})
			var servers, callers sync.WaitGroup
			for i := range stressContainers {
				c := there(m.Container(fmt.Sprint("c", i)))
				servers.Go(func() { (&stressServer{m: m, id: c.id}).run(done) })
				for caller := range stressCallers {
					callers.Go(func() { runStressCaller(t, c, caller, asked) })
				}
			}
			callers.Wait()
			close(done)
			servers.Wait()
			m.Stop()
			s := m.Stats()
			if s.Waiting+s.Announced+s.Open != 0 || s.Connected != 0 || s.Illegal != 0 {
				t.Errorf("left behind: %+v", s)
			}
			if n := m.channels.rows.Size(); n != 0 {
				t.Errorf("%d channels are left in the table", n)
			}
			var settled int64
			for _, outcomes := range s.Settled {
				for _, n := range outcomes {
					settled += n
				}
			}
			if want := int64(stressContainers * stressCallers * stressAsks); settled != want {
				t.Errorf("%d asks settled, want %d", settled, want)
			}
		})
	}
}

type countingSink struct{ heard atomic.Int64 }

func (s *countingSink) Notify(codec.Notification) { s.heard.Add(1) }

// stressCaller checks its one settlement while the answer is still borrowed.
type stressCaller struct {
	t       *testing.T
	payload string
	told    atomic.Int32
	settled chan struct{}
}

func (c *stressCaller) Settle(s Settlement) {
	if c.told.Add(1) != 1 {
		c.t.Errorf("%s was settled twice", c.payload)
		return
	}
	if s.Outcome == Answered && !strings.Contains(string(s.Answer.Body), `"`+c.payload+`"`) {
		c.t.Errorf("%s was answered with %s", c.payload, s.Answer.Body)
	}
	close(c.settled)
}

func runStressCaller(t *testing.T, c *Container, number int, asked func()) {
	for i := range stressAsks {
		caller := &stressCaller{t: t, payload: fmt.Sprint(c.id, "-", number, "-", i), settled: make(chan struct{})}
		payload := []byte(caller.payload)
		a := taken(c.Ask(answerKinds[rand.IntN(len(answerKinds))], payload, caller))
		asked()
		gone := false
		switch rand.IntN(8) {
		case 0:
			gone = a.Leave()
		case 1:
			gone = a.Cancel()
		}
		if !gone {
			<-caller.settled
		}
		clear(payload) // ours again; a race if anyone still reads it
		if told := caller.told.Load(); gone && told != 0 || !gone && told != 1 {
			t.Errorf("%s: gone %v, settled %d times", caller.payload, gone, told)
		}
	}
}

// stressServer serves one container over one connection after another, each of
// which ends after a few dozen announcements.
type stressServer struct {
	m     *Mux
	id    string
	paths sync.WaitGroup
}

// stressLine is an unbounded queue, as a connection's buffer is.
type stressLine struct {
	mu       sync.Mutex
	queue    []frame
	last     uint32
	unsorted bool
	more     chan struct{}
}

func (l *stressLine) Announce(channel uint32, k codec.Kind, payload []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsorted = l.unsorted || channel <= l.last
	l.last = channel
	l.queue = append(l.queue, frame{channel, k, string(payload)})
}

func (l *stressLine) Flush() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *stressLine) Probe() {}

func (l *stressLine) take() (queue []frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, l.queue = l.queue, nil
	if l.unsorted {
		panic("channels did not ascend on the wire")
	}
	return queue
}

func (s *stressServer) run(done <-chan struct{}) {
	defer s.paths.Wait()
	for {
		if s.serve(done) {
			return
		}
	}
}

// serve is one connection, which also ends when nothing is announced for a
// moment: what waits for the next one would wait for ever.
func (s *stressServer) serve(done <-chan struct{}) (over bool) {
	cl, err := s.m.Claim(s.id)
	if err != nil {
		panic(err)
	}
	defer cl.Detach()
	l := &stressLine{more: make(chan struct{}, 1)}
	cl.Attach(l)
	l.Flush()
	for left := 20 + rand.IntN(40); left > 0; {
		select {
		case <-l.more:
		case <-time.After(time.Millisecond):
			return false
		case <-done:
			return true
		}
		for _, f := range l.take() {
			left--
			if rand.IntN(10) > 0 { // else it is lost with the connection
				s.paths.Go(func() { s.answer(f) })
			}
		}
	}
	return false
}

func (s *stressServer) answer(f frame) {
	p, err := s.m.Open(s.id, f.kind, f.channel, &stressSocket{})
	if err != nil {
		return // withdrawn, or lost with its connection
	}
	if f.kind == codec.Notifications {
		for range rand.IntN(20) {
			p.Notification(notificationFrame(listChanged))
		}
	}
	switch n := rand.IntN(10); {
	case n == 0:
		p.Closed(nil)
	case n <= 2 && f.kind != codec.Notifications:
		p.Arrived()
		p.Broke()
	case n <= 2:
		p.Notification(errorFrame)
		p.Broke()
	case n == 3:
		p.Broke()
	case n == 4:
		p.TooBig(1)
	case p.Cancelled() || f.kind == codec.Notifications:
		p.Closed(nil)
	default:
		message := resultFor(f.kind, f.payload)
		p.Arrived()
		p.Closed(message)
		clear(message)
	}
}

type stressSocket struct{ closes atomic.Int32 }

func (s *stressSocket) CloseUnserved() {
	if s.closes.Add(1) > 1 {
		panic("a path was closed twice")
	}
}
