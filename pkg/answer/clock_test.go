package answer

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// dials is a Server's dial whose outcomes a test scripts, under a fake clock.
type dials struct {
	mu    sync.Mutex
	begun time.Time
	log   []dialed
	next  func(url string, attempt int) (socket, error)
}

type dialed struct {
	url string
	at  time.Duration
}

func (d *dials) dial(_ context.Context, url string, _ http.Header, _ *wsock.Config) (socket, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, dialed{url, time.Since(d.begun)})
	return d.next(url, len(d.log))
}

// fakeSocket ends when it is closed, cleanly, or cut.
type fakeSocket struct {
	h      wsock.Handler
	once   sync.Once
	held   atomic.Bool // a Close is not answered
	closed atomic.Bool // by us

	position atomic.Uint64 // bytes appended
	slow     atomic.Bool   // they arrive when the test says so, not at once
	arrived  atomic.Uint64

	mu   sync.Mutex
	sent []string
}

func (s *fakeSocket) Serve(h wsock.Handler) { s.h = h }
func (s *fakeSocket) Flush()                {}
func (s *fakeSocket) Pending() int          { return 0 }
func (s *fakeSocket) Position() uint64      { return s.position.Load() }
func (s *fakeSocket) Doubt()                {}

func (s *fakeSocket) Arrived(at uint64) bool {
	return !s.slow.Load() || s.arrived.Load() >= at
}
func (s *fakeSocket) Append(header, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, string(header)+string(payload))
	s.position.Add(uint64(len(header) + len(payload)))
}
func (s *fakeSocket) Close(uint16, string) {
	s.closed.Store(true)
	if !s.held.Load() {
		s.end(wsock.Ending{Clean: true, Code: 1000})
	}
}
func (s *fakeSocket) Cut()               { s.end(wsock.Ending{}) }
func (s *fakeSocket) end(e wsock.Ending) { s.once.Do(func() { s.h.Ended(e) }) }

func (s *fakeSocket) message(b []byte) {
	buffer := codec.GetBuffer(len(b))
	buffer.B = append(buffer.B, b...)
	s.h.Message(buffer)
}

// pass lets fake time pass, and what it sets off settle.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// runFake runs a server on scripted dials until the test's function returns.
func runFake(t *testing.T, h Handler, next func(url string, attempt int) (socket, error), test func(*dials, *Server)) {
	synctest.Test(t, func(t *testing.T) {
		d := &dials{begun: time.Now(), next: next}
		s := &Server{Gateway: "ws://gateway", Handler: h, Logger: quiet, dial: d.dial, jitter: func() float64 { return 0.5 }}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		test(d, s)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestR5_ARefusedClaimIsTriedAgainAfterGrowingWaits(t *testing.T) {
	for name, refusal := range map[string]error{
		"409":         &wsock.RefusedError{Status: 409, Reason: "another server is connected"},
		"unreachable": errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			sock := &fakeSocket{}
			runFake(t, fixed(`{}`, nil), func(_ string, attempt int) (socket, error) {
				if attempt <= 9 {
					return nil, refusal
				}
				return sock, nil
			}, func(d *dials, s *Server) {
				pass(time.Minute)
				want := []time.Duration{0, 50, 150, 350, 750, 1550, 2550, 3550, 4550, 5550} // halves of 100, 200 … 2,000
				if len(d.log) != len(want) {
					t.Fatalf("%d attempts, want %d: %v", len(d.log), len(want), d.log)
				}
				for i, w := range want {
					if d.log[i].at != w*time.Millisecond {
						t.Errorf("attempt %d came at %v, want %v", i, d.log[i].at, w*time.Millisecond)
					}
				}
				if st := s.Stats(); !st.Connected || st.DialFailures != 9 || st.Connections != 1 {
					t.Errorf("stats %+v", st)
				}
			})
		})
	}
}

func TestALastingConnectionMakesTheNextWaitShortAgain(t *testing.T) {
	var socks []*fakeSocket
	runFake(t, fixed(`{}`, nil), func(string, int) (socket, error) {
		socks = append(socks, &fakeSocket{})
		return socks[len(socks)-1], nil
	}, func(d *dials, _ *Server) {
		for range 4 { // ends as soon as it is open: the waits grow
			socks[len(socks)-1].end(wsock.Ending{})
			pass(5 * time.Second)
		}
		pass(settled)
		socks[len(socks)-1].end(wsock.Ending{Clean: true})
		before := time.Since(d.begun)
		pass(5 * time.Second)
		if got := d.log[len(d.log)-1].at - before; got != 50*time.Millisecond {
			t.Errorf("the wait after a lasting connection is %v, want 50ms", got)
		}
		if got := d.log[4].at - 15*time.Second; got != 400*time.Millisecond {
			t.Errorf("the wait after the fourth short connection is %v, want 400ms", got)
		}
	})
}

func TestAPathThatCannotBeOpenedIsTriedUntilItsConnectionEnds(t *testing.T) {
	line := &fakeSocket{}
	second := &fakeSocket{}
	runFake(t, fixed(`{}`, nil), func(url string, attempt int) (socket, error) {
		switch {
		case url != "ws://gateway/requests":
			return nil, &wsock.RefusedError{Status: 503}
		case attempt == 1:
			return line, nil
		}
		return second, nil
	}, func(d *dials, s *Server) {
		line.message(ask(1, codec.CallTool, `{}`))
		pass(time.Second)
		if n := s.Stats().PathFailures; n != 5 { // at 0, 50, 150, 350, 750 ms
			t.Errorf("%d attempts in a second, want 5", n)
		}
		line.end(wsock.Ending{})
		synctest.Wait()
		if n := s.Stats().Outcomes[codec.CallTool][Lost]; n != 1 {
			t.Errorf("%d asks counted as lost, want 1", n)
		}
		attempts := s.Stats().PathFailures
		pass(time.Minute)
		if n := s.Stats().PathFailures; n != attempts {
			t.Errorf("%d attempts after the ask was lost", n-attempts)
		}
	})
}

func TestTheDrainGivesRunningCallsItsTimeAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line, path := &fakeSocket{}, &fakeSocket{}
		d := &dials{begun: time.Now(), next: func(url string, _ int) (socket, error) {
			if url == "ws://gateway/requests" {
				return line, nil
			}
			return path, nil
		}}
		var call context.Context
		s := &Server{Gateway: "ws://gateway", Logger: quiet, dial: d.dial, Handler: handler{
			answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
				call = ctx
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		line.message(ask(1, codec.CallTool, `{}`))
		synctest.Wait()
		cancel()
		pass(DefaultDrain - time.Millisecond)
		if call.Err() != nil {
			t.Error("the call was ended before the drain was over")
		}
		pass(time.Millisecond)
		if !errors.Is(context.Cause(call), errStopped) {
			t.Errorf("after the drain the call's context says %v", context.Cause(call))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
