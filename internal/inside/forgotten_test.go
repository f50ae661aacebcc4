package inside

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

// forgotten has a container be forgotten, and fails unless it is.
func (w *world) forgotten(container string) {
	w.t.Helper()
	w.idle()
	if w.mux.Lookup(container) != nil {
		w.t.Fatalf("%s is not forgotten", container)
	}
}

func TestG5_ASessionOutlivesItsForgottenContainer(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	for range 3 {
		w.forgotten("c1")
		s.send(pingBody).is(200, "")
		w.forgotten("c1")
		e := s.listen()
		_ = e.conn.Close()
		await(t, "the stream is gone", func() bool { return w.streams.Streams.Load() == 0 })
		await(t, "the container was exited", func() bool { w.idle(); return w.mux.Lookup("c1") == nil })
	}
	p := w.provide("c1")
	reply := s.start(callBody)
	p.result(p.next(), `{"content":[]}`)
	reply.wait(200)
}

func TestG5_ADeletedSessionIsNotRevivedByForgetting(t *testing.T) {
	w := newWorld(t)
	s, other := w.connect("c1"), w.connect("c1")
	s.delete().is(204, "")
	for range 3 {
		w.forgotten("c1")
		s.send(pingBody).is(404, notFound)
		if w.mux.Lookup("c1") != nil {
			t.Fatal("an ended session began its container")
		}
		other.send(pingBody).is(200, "") // now it is there again, and knows neither
		s.send(pingBody).is(404, notFound)
		do(t, s.http, s.request("", method("GET"))).is(404, notFound)
	}
}

func TestG5_ForgettingDoesNotShortenASession(t *testing.T) {
	w := newWorld(t, func(o *options) { o.ttl = time.Hour })
	s := w.connect("c1")
	for range 5 { // hours after it was issued
		w.clock.pass(59 * time.Minute)
		s.send(pingBody).is(200, "")
		w.forgotten("c1")
	}
	w.clock.pass(time.Hour)
	s.send(pingBody).is(404, notFound)
	if w.mux.Lookup("c1") != nil {
		t.Error("an expired session began its container")
	}
}

func TestG5_AStreamOrAWaitingCallKeepsItsContainer(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	face := w.mux.Lookup("c1")
	e := s.listen()
	for range 3 {
		w.idle()
	}
	if w.mux.Lookup("c1") != face {
		t.Fatal("forgotten while a stream is open")
	}
	reply := s.start(callBody)
	await(t, "the call waits", func() bool { return w.mux.Stats().Waiting == 1 })
	_ = e.conn.Close()
	await(t, "the stream is gone", func() bool { return w.streams.Streams.Load() == 0 })
	for range 3 {
		w.idle()
	}
	if s := w.mux.Stats(); w.mux.Lookup("c1") != face || s.Present != 1 {
		t.Fatal("gone while a call waits")
	}
	p := w.provide("c1")
	p.result(p.next(), `{"content":[]}`)
	reply.wait(200)
}

// recorder is a mux.Follower.
type recorder struct {
	mu   sync.Mutex
	told []string
}

func (r *recorder) Snapshot([]string) {}
func (r *recorder) Came(id string)    { r.tell("came " + id) }
func (r *recorder) Went(id string)    { r.tell("went " + id) }

func (r *recorder) tell(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, what)
}

func (r *recorder) is(t *testing.T, want string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := fmt.Sprint(r.told); got != want {
		t.Fatalf("told %s, want %s", got, want)
	}
	r.told = nil
}

func TestG6_OnlyRequestsThatAreAcceptedKeepAContainerPresent(t *testing.T) {
	w := newWorld(t)
	r := &recorder{}
	defer w.mux.Follow(r)()
	w.provide("c1")
	r.is(t, "[]")
	s := w.connect("c1")
	r.is(t, "[came c1]")
	w.idle()
	r.is(t, "[went c1]")

	ended := w.connect("c1")
	ended.delete().is(204, "")
	w.idle()
	r.is(t, "[came c1 went c1]")
	ended.send(pingBody).is(404, notFound)
	do(t, s.http, w.post("/containers/c1/mcp", pingBody)).is(400, "")
	do(t, s.http, w.post("/containers/c1/mcp", `{}`, with("Mcp-Session-Id", s.token))).is(400, "")
	do(t, s.http, w.post("/containers/c1/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
	r.is(t, "[]")

	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).is(202, "")
	r.is(t, "[came c1]")
}

// TestG5_RequestsThatArriveWhileTheirContainerIsForgottenAreServed forgets
// containers as fast as it can while their clients use, begin and end sessions.
func TestG5_RequestsThatArriveWhileTheirContainerIsForgottenAreServed(t *testing.T) {
	w := newWorld(t, func(o *options) { o.ttl = 1000 * time.Hour })
	done, swept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swept)
		for {
			select {
			case <-done:
				return
			default:
				w.idle()
			}
		}
	}()
	var clients sync.WaitGroup
	for i := range 4 {
		container := fmt.Sprint("c", i%2)
		clients.Go(func() {
			s := &mcpSession{w: w, http: newClient(t), path: "/containers/" + container + "/mcp"}
			for range 40 {
				if err := s.liveAndDie(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	close(done)
	<-swept
	w.idle()
	if s := w.mux.Stats(); s.Containers != 0 {
		t.Errorf("%d containers are left", s.Containers)
	}
}

// liveAndDie is a session's life. It may run in any goroutine.
func (s *mcpSession) liveAndDie() error {
	status := func(r *http.Request, want int) (http.Header, error) {
		response, err := s.http.Do(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return nil, err
		}
		if response.StatusCode != want {
			return nil, fmt.Errorf("%s: %d, want %d", r.Method, response.StatusCode, want)
		}
		return response.Header, nil
	}
	head, err := status(s.w.post(s.path, initializeBody), 200)
	if err != nil {
		return err
	}
	s.token = head.Get("Mcp-Session-Id")
	for range 5 {
		if _, err := status(s.request(pingBody), 200); err != nil {
			return err
		}
	}
	if _, err := status(s.request("", method(http.MethodDelete)), 204); err != nil {
		return err
	}
	for range 3 {
		if _, err := status(s.request(pingBody), 404); err != nil {
			return err
		}
	}
	return nil
}

func TestTheArchiveIsBounded(t *testing.T) {
	l := lifetime{ttl: time.Hour}
	var a archive
	made := func(i int) session {
		var s session
		copy(s.id[:], fmt.Sprint(i))
		return s
	}
	const n = 5*maxArchived/2 + 7
	now := int64(100 * time.Hour) // all of them expired long ago, but for their use
	for i := range n {
		var used, ended sessions
		used.use(made(2*i).id, now)
		a.keep(&used, l, now)
		ended.ended = map[sessionID]int64{made(2*i + 1).id: now + 1}
		a.keep(&ended, l, now)
	}
	for _, g := range []*generations{&a.uses, &a.ended} {
		if kept := len(g.young) + len(g.old); kept < maxArchived || kept > 2*maxArchived {
			t.Errorf("%d are remembered, bounds %d and %d", kept, maxArchived, 2*maxArchived)
		}
	}
	for i := n - maxArchived; i < n; i++ {
		if !a.live(made(2*i), l, now) || a.live(made(2*i+1), l, now) {
			t.Fatalf("session %d was lost", i)
		}
	}
}

func TestTheArchiveKeepsOnlyWhatIsOfUse(t *testing.T) {
	l := lifetime{ttl: time.Hour}
	var a archive
	now := int64(100 * time.Hour)
	s := sessions{
		uses:  map[sessionID]int64{{1}: now - int64(time.Hour), {2}: now - int64(time.Hour) + 1},
		ended: map[sessionID]int64{{3}: now, {4}: now + 1},
	}
	a.keep(&s, l, now)
	if len(a.uses.young) != 1 || len(a.ended.young) != 1 {
		t.Errorf("%d uses and %d ends are kept, want one of each", len(a.uses.young), len(a.ended.young))
	}
}

var _ mux.Forgetter = (*Face)(nil)
