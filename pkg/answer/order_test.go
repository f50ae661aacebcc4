package answer

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

const progress = `{"method":"notifications/progress"}`

// telling is a Handler whose calls notify first, so many times, and answer once
// that was sent.
func telling(many int, notification string) Handler {
	// Made where it is used first: in a bubble of synctest, where there is one.
	calls := sync.OnceValue(func() chan chan error { return make(chan chan error) })
	return handler{
		answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
			sent := make(chan error, 1)
			select {
			case calls() <- sent:
				return []byte(`{"content":[]}`), <-sent
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		notify: func(ctx context.Context, send func([]byte) error) error {
			for {
				select {
				case sent := <-calls():
					var err error
					for i := 0; i < many && err == nil; i++ {
						err = send([]byte(notification))
					}
					sent <- err
				case <-ctx.Done():
					return nil
				}
			}
		},
	}
}

// ordering has one call answered on one fake path while the notifications before
// it are on their way on another.
type ordering struct {
	line, told, call *fakeSocket
	server           *Server
	begun            time.Time
}

func order(t *testing.T, test func(*ordering)) {
	o := &ordering{line: &fakeSocket{}, told: &fakeSocket{}, call: &fakeSocket{}}
	o.told.slow.Store(true)
	runFake(t, telling(3, progress), func(url string, _ int) (socket, error) {
		switch {
		case strings.HasSuffix(url, "/requests"):
			return o.line, nil
		case strings.HasSuffix(url, "/notifications/1"):
			return o.told, nil
		}
		return o.call, nil
	}, func(_ *dials, s *Server) {
		o.server, o.begun = s, time.Now()
		o.line.message(ask(1, codec.Notifications, ""))
		synctest.Wait()
		o.line.message(ask(2, codec.CallTool, `{}`))
		synctest.Wait()
		if n := len(o.told.all()); n != 3 {
			t.Errorf("%d notifications were sent", n)
		}
		test(o)
	})
}

func (s *fakeSocket) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.sent...)
}

// answered says whether the call's answer is sent.
func (o *ordering) answered() bool {
	synctest.Wait()
	return len(o.call.all()) > 0
}

func TestAnAnswerFollowsTheNotificationsSentBeforeIt(t *testing.T) {
	order(t, func(o *ordering) {
		pass(orderWait / 2)
		if o.answered() {
			t.Fatal("the answer was sent before its notifications had arrived")
		}
		o.told.arrived.Store(o.told.Position() - 1)
		pass(orderWait / 4)
		if o.answered() {
			t.Fatal("the answer was sent before its last notification had arrived")
		}
		behind := o.told.Position()
		o.told.Append(nil, []byte("what comes later is not waited for"))
		o.told.arrived.Store(behind)
		pass(unreadRetry)
		if !o.answered() {
			t.Fatal("the answer was not sent once its notifications had arrived")
		}
	})
}

func TestAnAnswerWaitsNoLongerThanASecondForNotifications(t *testing.T) {
	order(t, func(o *ordering) {
		pass(orderWait - time.Millisecond)
		if o.answered() {
			t.Fatal("the answer did not wait")
		}
		pass(time.Millisecond)
		if !o.answered() {
			t.Fatal("the answer waits for a path that does not keep up")
		}
		if o.server.Stats().Outcomes[codec.CallTool][Answered] != 1 {
			t.Errorf("%+v", o.server.Stats())
		}
	})
}

func TestAnAnswerWaitsForNoPathThatHasEnded(t *testing.T) {
	order(t, func(o *ordering) {
		o.told.end(wsock.Ending{})
		pass(unreadRetry)
		if !o.answered() {
			t.Fatal("the answer waits for a path that has ended")
		}
	})
}

func TestAnAnswerThatNobodyWaitsForDoesNotWaitEither(t *testing.T) {
	order(t, func(o *ordering) {
		o.call.end(wsock.Ending{})
		synctest.Wait()
		if n := o.server.Stats().Outcomes[codec.CallTool][Abandoned]; n != 1 || o.answered() {
			t.Fatalf("%d calls abandoned, answers %q", n, o.call.all())
		}
	})
}

func TestAnAnswerWithoutNotificationsOnTheirWayWaitsForNothing(t *testing.T) {
	order(t, func(o *ordering) {
		o.told.slow.Store(false)
		pass(unreadRetry)
		if !o.answered() {
			t.Fatal("not answered")
		}
		call := &fakeSocket{}
		o.call = call
		before := time.Now()
		o.line.message(ask(3, codec.CallTool, `{}`))
		if !o.answered() || time.Now() != before {
			t.Fatalf("answered %v after %v", call.all(), time.Since(before))
		}
	})
}

// serve runs a server of container "c" for as long as the test does.
func serve(t *testing.T, g *half, h Handler) *mux.Container {
	s := &Server{Gateway: g.url, Container: "c", Handler: h, Logger: quiet}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := soon(t, done); err != nil {
			t.Error(err)
		}
	})
	return there(g.mux.Container("c"))
}

// call asks once, and says how that ended.
func call(c *mux.Container) told {
	answer := make(told, 1)
	c.Ask(codec.CallTool, []byte(`{"name":"t"}`), answer)
	return answer
}

const answeredSo = `answered {"content":[]}`

// TestNotificationsReachTheContainerBeforeTheAnswer is against a real gateway
// half: when its caller has the answer, and what had arrived is drained, every
// notification was heard.
func TestNotificationsReachTheContainerBeforeTheAnswer(t *testing.T) {
	const rounds, each = 2, 10_000
	g := newHalf(t, nil)
	c := serve(t, g, telling(each, progress))
	for round := range rounds {
		if got := soon(t, call(c)); got != answeredSo {
			t.Fatal(got)
		}
		awaitDrained(t, c.Drained)
		if got, want := g.heard.Load(), int64(each*(round+1)); got != want {
			t.Fatalf("drained with %d notifications heard of %d", got, want)
		}
	}
}

// TestAnAnswerDoesNotOvertakeNotificationsThatTheSocketDoesNotTake has the gateway
// read nothing of a path for a while: what was sent fits no kernel's buffer.
func TestAnAnswerDoesNotOvertakeNotificationsThatTheSocketDoesNotTake(t *testing.T) {
	const many, size = 60, 16 << 10 // send would wait behind 1 MiB
	held := make(chan struct{})
	g := newHalf(t, held)
	sent := make(chan struct{})
	h := telling(many, `{"method":"m","params":{"x":"`+strings.Repeat("x", size)+`"}}`).(handler)
	c := serve(t, g, handler{notify: h.notify, answer: func(ctx context.Context, k codec.Kind, params []byte) ([]byte, error) {
		defer close(sent)
		return h.answer(ctx, k, params)
	}})
	answer := call(c)
	soon(t, sent)
	select {
	case got := <-answer:
		t.Fatalf("%s before the notifications", got)
	case <-time.After(orderWait / 10): // nothing tells that it does not come
	}
	close(held)
	if got := soon(t, answer); got != answeredSo {
		t.Fatal(got)
	}
	awaitDrained(t, c.Drained)
	if got := g.heard.Load(); got != many {
		t.Fatalf("drained with %d notifications heard of %d", got, many)
	}
}

// TestCallsAtOnceEachFollowTheirNotifications has calls race for one path.
func TestCallsAtOnceEachFollowTheirNotifications(t *testing.T) {
	const calls, rounds, each = 8, 15, 20
	g := newHalf(t, nil)
	c := serve(t, g, telling(each, progress))
	var answered atomic.Int64
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			for range rounds {
				if got := <-call(c); got != answeredSo {
					t.Error(got)
					return
				}
				least := answered.Add(1) * each
				awaitDrained(t, c.Drained)
				if got := g.heard.Load(); got < least {
					t.Errorf("%d calls were answered and the path drained with %d notifications heard", least/each, got)
				}
			}
		})
	}
	all.Wait()
	awaitDrained(t, c.Drained)
	if got := g.heard.Load(); got != calls*rounds*each {
		t.Errorf("%d notifications were heard", got)
	}
}
