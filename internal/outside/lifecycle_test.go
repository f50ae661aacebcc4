package outside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

func TestShutdownClosesWhatIsStillHTTP(t *testing.T) {
	w := begin(t)
	idle, half := w.plain(), w.plain()
	if _, err := io.WriteString(half, "GET /requests HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both are accepted", func() bool {
		w.handler.roster.mu.Lock()
		defer w.handler.roster.mu.Unlock()
		return w.handler.roster.arrivals.count == 2
	})
	w.shutdown()
	for _, c := range []net.Conn{idle, half} {
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
	if c, err := net.Dial("tcp", w.addr); err == nil {
		_ = c.Close()
		t.Error("the listener still accepts")
	}
}

func TestShutdownCutsAPeerThatDoesNotAnswerItsClose(t *testing.T) {
	w := begin(t)
	p := w.provider("default")
	w.shutdown()
	if code, reason := p.requests.ReadClose(); code != 1001 || reason == "" {
		t.Errorf("closed with %d %q", code, reason)
	}
	p.requests.ReadGone()
	if w.log.count("use of closed network connection") != 1 {
		t.Errorf("the socket was not cut:\n%s", w.log)
	}
}

func TestShutdownEndsAllButRequestsAtOnce(t *testing.T) {
	w := begin(t)
	p := w.provider("default")
	w.callTool(toolAsk)
	answer, l := p.open(p.call()), w.follow()
	p.notifications()
	done := make(chan struct{})
	go func() { defer close(done); w.shutdown() }()
	p.requests.ReadClose()
	func() {
		// What is cut for taking too long is cut under this lock.
		w.handler.roster.mu.Lock()
		defer w.handler.roster.mu.Unlock()
		if c, err := l.read(); !errors.Is(err, io.EOF) {
			t.Errorf("the list: %+v %v, wanted the end", c, err)
		}
		answer.ReadGone()
	}()
	p.requests.Close(1001)
	<-done
}

func TestAConnectionIsListedOnce(t *testing.T) {
	var r roster
	r.init()
	var m member
	var a, late arrival
	if !r.arrive(&a) || !r.arrive(&late) || !r.join(&m, &a) {
		t.Fatal("not taken")
	}
	r.depart(&a)
	if open, _ := r.all(); len(open) != 1 || r.arrivals.count != 1 {
		t.Error("a socket is still listed as an arrival, or not as a socket")
	}
	r.close()
	if r.arrive(new(arrival)) || r.join(new(member), &late) {
		t.Error("taken while closing")
	}
	r.depart(&late)
	r.depart(&late)
	r.leave(&m)
	r.leave(&m)
	<-r.empty
}

func TestShutdownIsBoundedByItsContext(t *testing.T) {
	w := begin(t)
	w.provider("default")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.handler.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.shutdown() // a second one waits for the rest
}

func TestShutdownCutsASocketThatLingers(t *testing.T) {
	w := begin(t)
	p := w.provider("default")
	p.requests.Binary([]byte("hello"))
	p.requests.ReadClose()
	w.shutdown()
	p.requests.ReadGone()
}

func TestServeAfterShutdown(t *testing.T) {
	w := begin(t)
	w.shutdown()
	l := newScripted()
	if err := w.handler.Serve(l); !errors.Is(err, ErrStopped) {
		t.Errorf("%v", err)
	}
}

func TestFramesSentAheadOfThe101AreNotLost(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default", wstest.Early(wstest.AppendFrame(nil, wstest.Frame{Fin: true, Masked: true, Op: wstest.OpPing, Payload: []byte("early")})))
		if got := p.requests.ReadPong(); string(got) != "early" {
			t.Errorf("pong %q", got)
		}
		c := w.callTool(toolAsk)
		early := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Masked: true, Op: wstest.OpBinary, Payload: result(toolAnswer)})
		early = wstest.AppendFrame(early, wstest.Frame{Fin: true, Masked: true, Op: wstest.OpClose})
		answer := p.open(p.call(), wstest.Early(early))
		c.answered(toolAnswer)
		answer.ReadClose()
		answer.ReadEOF()
	})
}

func TestConnectionCloseDoesNotSkipTheUpgrade(t *testing.T) {
	w := begin(t)
	p := w.provider("default", wstest.Header("Connection", "close, Upgrade"))
	p.quiet()
	p.hangUp()
	w.provider("default").quiet()
}

// Upgrades that are refused, aborted, reset or closed, many at once: every claim
// and every path must be free in the end.
func TestNoUpgradeLeaksAClaim(t *testing.T) {
	w := begin(t)
	const workers, rounds, containers = 8, 250, 5
	var all sync.WaitGroup
	failed := make(chan error, workers)
	for worker := range workers {
		all.Go(func() {
			for i := range rounds {
				target := fmt.Sprintf("/containers/c%d/requests", (worker+i)%containers)
				if err := w.someUpgrade(target, worker*rounds+i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	eventually(t, "no socket is left", func() bool {
		opened, closed := w.counts.sockets()
		return opened == closed && w.mux.Stats().Connected == 0
	})
	if n := w.counts.refusals(ReasonClaimed); n == 0 {
		t.Error("nothing was refused: the test proves little")
	}
	for i := range containers {
		w.provider(fmt.Sprintf("c%d", i)).quiet()
	}
}

func (w *world) someUpgrade(target string, i int) error {
	request := "GET " + target + " HTTP/1.1\r\n" + upgradeHeaders + "\r\n"
	switch i % 5 {
	case 0, 1: // aborted
		c, err := net.Dial("tcp", w.addr)
		if err != nil {
			return err
		}
		if i%5 == 0 {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
		_, _ = io.WriteString(c, request)
		return c.Close()
	case 2: // closed early
		peer, response, err := wstest.Try(w.addr, target, wstest.Early(wstest.AppendFrame(nil, wstest.Frame{Fin: true, Masked: true, Op: wstest.OpClose})))
		return w.over(peer, response, err)
	case 3: // a violation early
		peer, response, err := wstest.Try(w.addr, target, wstest.Early([]byte{0xff, 0}))
		return w.over(peer, response, err)
	default:
		peer, response, err := wstest.Try(w.addr, target, wstest.Header("Connection", "Upgrade, close"))
		return w.over(peer, response, err)
	}
}

func (w *world) over(peer *wstest.Peer, response wstest.Response, err error) error {
	if err != nil {
		return err
	}
	if peer == nil {
		if response.Status != 409 {
			return fmt.Errorf("status %d", response.Status)
		}
		return nil
	}
	peer.Reset()
	return nil
}

func TestG4_AServerThatDoesNotReadSlowsNobodyElse(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		stuck := w.provider("stuck")
		big := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
		var calls []*call
		for range 20 { // more than the kernel takes
			calls = append(calls, w.ask("stuck", codec.CallTool, big))
		}
		p := w.provider("default")
		for range 20 {
			c := w.callTool(toolAsk)
			p.answer(p.call(), result(toolAnswer))
			c.answered(toolAnswer)
		}
		for _, c := range calls { // it begins to read, and has missed nothing
			stuck.answer(stuck.call(), result(toolAnswer))
			c.answered(toolAnswer)
		}
	})
}

func TestRefusalsAreCountedAndLogged(t *testing.T) {
	w := begin(t)
	wstest.Refused(t, w.addr, "/nowhere?\x7f")
	wstest.Refused(t, w.addr, "/mcp/call-tool/1")
	if w.counts.refusals(ReasonUnknownPath)+w.counts.refusals(ReasonMalformed) != 1 || w.counts.refusals(ReasonUnknownChannel) != 1 {
		t.Errorf("counted %v", w.counts.refused)
	}
	if n := w.log.count("msg=refused"); n != 2 {
		t.Errorf("%d lines in the log:\n%s", n, w.log)
	}
}

func TestQuietSocketsArePingedWithoutMovingTheClock(t *testing.T) {
	w := begin(t, withPing(10*time.Millisecond))
	p := w.provider("default")
	w.callTool(toolAsk)
	p.open(p.notifications()).ReadPing()
}
