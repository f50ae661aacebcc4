package wsock

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// onStacks are connections that work on the same stacks; the first one's messages
// go to first, too.
func onStacks(t *testing.T, n int, first func([]byte) *Violation) (stacks *Stacks, handlers []*recorder, peers []*wstest.Peer) {
	t.Helper()
	stacks = new(Stacks)
	cfg := &Config{MaxMessage: 1 << 20, Stacks: stacks}
	for range n {
		ours, theirs := sockets(t)
		r := newRecorder()
		if len(peers) == 0 {
			r.onMessage = first
		}
		New(ours, nil, cfg).Serve(r)
		handlers, peers = append(handlers, r), append(peers, wstest.Wrap(t, theirs, true))
	}
	return stacks, handlers, peers
}

func TestConnectionsShareStacks(t *testing.T) {
	stacks, handlers, peers := onStacks(t, 3, nil)
	var all sync.WaitGroup
	for i, p := range peers {
		all.Go(func() {
			for n := range 200 {
				p.Send(binaries(fmt.Sprint(i, n), strings.Repeat("long ", 5000))...)
			}
		})
	}
	for i, r := range handlers {
		for n := range 200 {
			same(t, wait(t, "a message", r.messages), []byte(fmt.Sprint(i, n)))
			same(t, wait(t, "a message", r.messages), []byte(strings.Repeat("long ", 5000)))
		}
	}
	all.Wait()
	for i, p := range peers {
		p.Close(1000)
		p.ReadClose()
		if e := wait(t, "the end", handlers[i].ended); !e.Clean {
			t.Errorf("ended with %v", e)
		}
	}
	stacks.mu.Lock()
	if n := len(stacks.rested); n == 0 || n > len(peers) {
		t.Errorf("%d stacks rest", n)
	}
	stacks.mu.Unlock()
	stacks.Close()
}

// TestNoMoreThanSoManyStacksRest has more connections than that be amid a frame.
func TestNoMoreThanSoManyStacksRest(t *testing.T) {
	stacks, handlers, peers := onStacks(t, mostRested+5, nil)
	frame := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: []byte("message")})
	for _, p := range peers {
		p.Raw(frame[:len(frame)-1])
	}
	for _, p := range peers {
		p.Raw(frame[len(frame)-1:])
	}
	for i, r := range handlers {
		same(t, wait(t, "a message", r.messages), []byte("message"))
		peers[i].Close(1000)
		wait(t, "the end", r.ended)
		peers[i].ReadClose()
		peers[i].ReadEOF()
	}
	stacks.mu.Lock()
	if n := len(stacks.rested); n > mostRested {
		t.Errorf("%d stacks rest", n)
	}
	stacks.mu.Unlock()
	stacks.Close()
}

func TestAPanicOnAStackEndsItsConnectionOnly(t *testing.T) {
	stacks, handlers, peers := onStacks(t, 2, func([]byte) *Violation { panic("boom") })
	for range 3 {
		peers[1].Binary([]byte("before"))
		wait(t, "a message", handlers[1].messages)
	}
	peers[0].Binary([]byte("x"))
	e := wait(t, "the end", handlers[0].ended)
	if p, ok := e.Cause.(*PanicError); !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "TestAPanicOnAStack") {
		t.Errorf("ended with %+v", e)
	}
	peers[0].ReadGone()
	peers[1].Binary([]byte("after"))
	wait(t, "a message", handlers[1].messages)
	peers[1].Close(1000)
	wait(t, "the end", handlers[1].ended)
	stacks.Close()
}

func TestStacksAtWorkEndWhenTheyAreDone(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	stacks, handlers, peers := onStacks(t, 1, func(b []byte) *Violation {
		if string(b) == "x" {
			close(entered)
			<-leave
		}
		return nil
	})
	peers[0].Binary([]byte("x"))
	<-entered
	before := runtime.NumGoroutine()
	stacks.Close()
	close(leave)
	until(t, "the end of the stack", func() bool { return runtime.NumGoroutine() < before })
	peers[0].Binary([]byte("y")) // works all the same
	wait(t, "a message", handlers[0].messages)
	wait(t, "a message", handlers[0].messages)
	peers[0].Close(1000)
	wait(t, "the end", handlers[0].ended)
}

func TestWhatCameEarlyIsWorkedOnOnAStack(t *testing.T) {
	stacks := new(Stacks)
	ours, theirs := sockets(t)
	early := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: []byte("early")})
	r, p := newRecorder(), wstest.Wrap(t, theirs, true)
	New(ours, early, &Config{Stacks: stacks}).Serve(r)
	p.Binary([]byte("later"))
	same(t, wait(t, "a message", r.messages), []byte("early"))
	same(t, wait(t, "a message", r.messages), []byte("later"))
	p.Close(1000)
	wait(t, "the end", r.ended)
	stacks.Close()
}
