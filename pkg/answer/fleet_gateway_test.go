package answer

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/outside"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// site is a real gateway's outside half at an address that it keeps when it is begun again, and a fleet that is too.
type site struct {
	t       *testing.T
	addr    string
	mux     *mux.Mux
	ahead   atomic.Int64 // how far the containers' clock is
	gateway func()       // ends it

	fleet    *Fleet
	runs     func() // ends it
	ids      []string
	changed  chan struct{} // has room for one
	clean    atomic.Int64  // /requests connections that the fleet closed
	made     atomic.Int64
	released atomic.Int64

	mu    sync.Mutex
	heard map[string]bool // containers a notification came for
}

const idle = time.Minute

func newSite(t *testing.T, containers int) *site {
	s := &site{t: t, addr: "127.0.0.1:0", changed: make(chan struct{}, 1), heard: make(map[string]bool)}
	for i := range containers {
		s.ids = append(s.ids, fmt.Sprintf("c%d", i))
	}
	s.beginGateway()
	s.beginFleet()
	t.Cleanup(func() { s.runs(); s.gateway() })
	return s
}

// ear is a mux.Sink.
type ear struct {
	s  *site
	id string
}

func (e ear) Notify(codec.Notification) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.s.heard[e.id] = true
	e.s.change()
}

func (s *site) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// await waits until something holds that some change makes true.
func (s *site) await(what string, holds func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wstest.Patience)
	defer cancel()
	for !holds() {
		select {
		case <-s.changed:
		case <-ctx.Done():
			s.t.Fatalf("%s did not come true: %+v", what, s.fleet.Stats())
		}
	}
}

func (s *site) beginGateway() {
	s.mux = mux.New(mux.Config{
		NewSink: func(id string) mux.Sink { return ear{s, id} },
		Idle:    idle,
		Now:     func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
	})
	m := s.mux
	h := outside.New(outside.Config{Mux: m, MaxMessage: 1 << 20, Logger: quiet})
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.Serve(ln) }()
	s.gateway = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), wstest.Patience)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			s.t.Errorf("shutdown: %v", err)
		}
		if err := soon(s.t, served); err != nil {
			s.t.Errorf("serve: %v", err)
		}
		m.Stop()
		if n := m.Stats().Illegal; n != 0 {
			s.t.Errorf("%d illegal calls in the mux", n)
		}
	})
}

// beginFleet begins one whose containers answer with their names, and notify of them.
func (s *site) beginFleet() {
	f := &Fleet{
		Gateway: "ws://" + s.addr,
		Logger:  quiet,
		Handler: func(container string) (Handler, func(), error) {
			s.made.Add(1)
			return handler{
				answer: func(context.Context, codec.Kind, []byte) ([]byte, error) {
					return fmt.Appendf(nil, `{"content":[],"of":%q}`, container), nil
				},
				notify: func(ctx context.Context, send func([]byte) error) error {
					if err := send([]byte(`{"method":"m"}`)); err != nil {
						return err
					}
					<-ctx.Done()
					return nil
				},
			}, func() { s.released.Add(1); s.change() }, nil
		},
		Hooks: Hooks{
			Connected: s.change,
			Disconnected: func(err error) {
				if err == nil {
					s.clean.Add(1)
				}
				s.change()
			},
		},
	}
	s.fleet = f
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	s.runs = sync.OnceFunc(func() {
		cancel()
		if err := soon(s.t, done); err != nil {
			s.t.Errorf("Run returned %v", err)
		}
		if st := f.Stats(); st.Containers != 0 || st.Listening != 0 || st.Open != 0 {
			s.t.Errorf("after Run: %+v", st)
		}
	})
}

// told is a caller that is told how one ask ended.
type told chan string

// Settle implements mux.Caller.
func (c told) Settle(s mux.Settlement) { c <- s.Outcome.String() + " " + string(s.Answer.Body) }

// visit is one inside activity in each container, which is told apart by its answer.
func (s *site) visit() {
	s.t.Helper()
	s.mu.Lock()
	s.heard = make(map[string]bool)
	s.mu.Unlock()
	answers := make([]told, len(s.ids))
	for i, id := range s.ids {
		answers[i] = make(told, 1)
		c := there(s.mux.Enter(id))
		c.Ask(codec.CallTool, []byte(`{"name":"t"}`), answers[i])
		defer c.Exit()
	}
	for i, id := range s.ids {
		if got, want := soon(s.t, answers[i]), fmt.Sprintf(`answered {"content":[],"of":%q}`, id); got != want {
			s.t.Fatalf("%s: %s, want %s", id, got, want)
		}
	}
}

// notified waits until each container was notified since the visit began.
func (s *site) notified() {
	s.t.Helper()
	s.await("a notification in each container", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.heard) == len(s.ids)
	})
}

func TestG6_ThousandsOfContainersAreServedThroughRestartsOfEitherSide(t *testing.T) {
	s := newSite(t, many)
	s.visit()
	s.notified()
	if n := s.fleet.Stats().Listening; n != many {
		t.Errorf("%d containers listen, want %d", n, many)
	}

	s.runs()
	if clean, released := s.clean.Load(), s.released.Load(); clean != many || released != many {
		t.Errorf("%d connections were closed cleanly and %d handlers released, want %d", clean, released, many)
	}
	s.beginFleet()
	s.visit()
	s.notified()

	s.gateway()
	s.beginGateway()
	s.visit()
	s.notified()
	// What came back to the new gateway before it listed them was left, and served again.
	s.await("all being served again", func() bool {
		st := s.fleet.Stats()
		return st.Lists >= 2 && st.Listening == many && st.Came-st.Went == many && s.made.Load()-s.released.Load() == many
	})

	s.ahead.Add(int64(idle))
	kept := there(s.mux.Enter(s.ids[0]))
	defer kept.Exit()
	s.mux.Sweep()
	s.await("all but one being left", func() bool {
		return s.fleet.Stats().Listening == 1 && s.made.Load()-s.released.Load() == 1
	})
	s.ahead.Add(int64(idle))
	s.mux.Sweep()
	if n := s.mux.Stats().Containers; n != 1 {
		t.Errorf("%d containers are not forgotten, want 1", n)
	}
	s.visit()
	s.await("all being back", func() bool { return s.fleet.Stats().Listening == many })
}

func TestG6_CallersWaitForAFleetThatComesLater(t *testing.T) {
	s := newSite(t, 50)
	s.runs()
	answers := make(told, len(s.ids))
	for _, id := range s.ids {
		c := there(s.mux.Enter(id))
		defer c.Exit()
		c.Ask(codec.CallTool, []byte(`{"name":"t"}`), answers)
	}
	s.beginFleet()
	for range s.ids {
		if got := soon(t, answers); !strings.HasPrefix(got, "answered ") {
			t.Error(got)
		}
	}
}

// there is a container that no limit refused.
func there(c *mux.Container, err error) *mux.Container {
	if err != nil {
		panic(err)
	}
	return c
}
