package outside

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// tally is a sink that counts what it hears, checks its order, and holds its
// path's reader up at one of them.
type tally struct {
	heard   atomic.Int64
	wrong   atomic.Int64
	holdAt  int64 // 0: nowhere
	held    chan struct{}
	release chan struct{}
}

func newTally(holdAt int64) *tally {
	return &tally{holdAt: holdAt, held: make(chan struct{}), release: make(chan struct{})}
}

func (s *tally) Notify(n codec.Notification) {
	at := s.heard.Load() + 1
	if string(n.Method) != fmt.Sprint("m", at) {
		s.wrong.Add(1)
	}
	if at == s.holdAt {
		close(s.held)
		<-s.release
	}
	s.heard.Store(at) // handed to the sink is what it has returned from
}

// said is how far a provider has come with its notifications.
type said struct {
	path *wstest.Peer
	n    int
}

// say writes n more notifications, some frames at a time.
func (s *said) say(n int) {
	for last := s.n + n; s.n < last; {
		var frames []wstest.Frame
		for ; s.n < last && len(frames) < 37; s.n++ {
			frames = append(frames, wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: notification(fmt.Sprint("m", s.n+1))})
		}
		s.path.Send(frames...)
	}
}

// arrived waits until the gateway's kernel has all of it, which is what a
// provider that keeps the order waits for.
func (s *said) arrived(t *testing.T) {
	t.Helper()
	c := sock.Wrap(s.path.NC)
	eventually(t, "all notifications are acknowledged", func() bool {
		n, known := c.Unacknowledged()
		return known && n == 0
	})
}

// drainedSoon polls as the inside does, and then has heard all that was said.
func drainedSoon(t *testing.T, c *mux.Container, heard *tally, said int) {
	t.Helper()
	for deadline := time.Now().Add(patience); !c.Drained(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("never drained")
		}
	}
	if n := heard.heard.Load(); n != int64(said) {
		t.Fatalf("drained with %d notifications heard of %d", n, said)
	}
}

func TestDrainedIsTrueOnlyOnceTheSinkHasHeardWhatCameBeforeTheAnswer(t *testing.T) {
	const rounds, each = 5, 10_000
	heard := newTally(0)
	w := begin(t, func(s *setup) { s.mux.NewSink = func(string) mux.Sink { return heard } })
	p, path := w.listening("default")
	c := w.mux.Lookup("default")
	notifications := &said{path: path}
	overtaken := 0
	for range rounds {
		call := w.callTool(toolAsk)
		answer := p.open(p.call())
		notifications.say(each)
		notifications.arrived(t)
		answer.BinaryAndClose(result(toolAnswer))
		call.answered(toolAnswer)
		if heard.heard.Load() < int64(notifications.n) {
			overtaken++
		}
		drainedSoon(t, c, heard, notifications.n)
	}
	t.Logf("the answer was ahead of the reader in %d of %d rounds", overtaken, rounds)
	if heard.wrong.Load() != 0 {
		t.Error("notifications were heard out of order")
	}
}

func TestDrainedIsFalseWhileTheAnswerIsAheadOfTheNotifications(t *testing.T) {
	const before, behind = 9700, 300 // the latter fit the kernel's empty buffer
	heard := newTally(before + 1)
	w := begin(t, func(s *setup) { s.mux.NewSink = func(string) mux.Sink { return heard } })
	p, path := w.listening("default")
	c := w.mux.Lookup("default")
	notifications := &said{path: path}
	call := w.callTool(toolAsk)
	answer := p.open(p.call())
	notifications.say(before)
	notifications.arrived(t)
	drainedSoon(t, c, heard, before)
	notifications.say(behind)
	notifications.arrived(t)
	<-heard.held
	answer.BinaryAndClose(result(toolAnswer))
	call.answered(toolAnswer)
	for range 1000 {
		if c.Drained() {
			t.Fatalf("drained with %d notifications heard of %d", heard.heard.Load(), before+behind)
		}
		runtime.Gosched()
	}
	close(heard.release)
	drainedSoon(t, c, heard, before+behind)
	path.Close(1000)
	w.eventuallyClosed("notifications")
	if !c.Drained() {
		t.Error("not drained without a path")
	}
}

// TestDrainedUnderManyPathsAndLooks has several containers notify, answer and
// lose their paths at once, and goroutines that look all the while.
func TestDrainedUnderManyPathsAndLooks(t *testing.T) {
	const containers, rounds, each = 4, 30, 50
	tallies := make(map[string]*tally)
	for i := range containers {
		tallies[fmt.Sprint("c", i)] = newTally(0)
	}
	w := begin(t, withReaskAfter(0), func(s *setup) { s.mux.NewSink = func(id string) mux.Sink { return tallies[id] } })
	for id, heard := range tallies {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			p, path := w.listening(id)
			c := w.mux.Lookup(id)
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						c.Drained()
						runtime.Gosched()
					}
				}
			}()
			defer func() { close(stop); <-stopped }()
			notifications := &said{path: path}
			for i := range rounds {
				if i%10 == 9 { // a clean end: the next path is opened on the next connection
					notifications.path.Close(1000)
					notifications.path.ReadClose()
					p.reconnect()
					p.resident = nil
					notifications.path = p.open(p.notifications())
				}
				call := w.ask(id, codec.CallTool, toolAsk)
				answer := p.open(p.call())
				notifications.say(each)
				notifications.arrived(t)
				answer.BinaryAndClose(result(toolAnswer))
				call.answered(toolAnswer)
				drainedSoon(t, c, heard, notifications.n)
			}
			if heard.wrong.Load() != 0 {
				t.Error("notifications were heard out of order")
			}
		})
	}
}
