package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// world is a gateway of fakes: it hands out lists, and sockets that are kept by the container and path they are for.
type world struct {
	t     *testing.T
	begun time.Time
	f     *Fleet

	mu       sync.Mutex
	list     *io.PipeWriter // the one that is followed
	noList   error          // lists are refused
	lists    []time.Duration
	dials    []string // paths, in order
	sockets  map[string]*fakeSocket
	all      []*fakeSocket
	held     bool          // sockets do not answer a Close
	noDial   error         // dials are refused
	stalled  chan struct{} // a dial takes one of these, if there is a channel
	underway int
	most     int
}

// inWorld runs a fleet in a world under a fake clock until the test's function returns.
func inWorld(t *testing.T, f *Fleet, test func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, begun: time.Now(), f: f, sockets: make(map[string]*fakeSocket)}
		f.Gateway = "ws://gateway"
		if f.Logger == nil {
			f.Logger = quiet
		}
		if f.Handler == nil {
			f.Handler = func(string) (Handler, func(), error) { return fixed(`{}`, nil), nil, nil }
		}
		f.openList = w.openList
		f.server.dial = w.dial
		f.server.jitter = func() float64 { return 0.5 }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		synctest.Wait()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run returned %v", err)
			}
			if s := f.Stats(); s.Containers != 0 || s.Listening != 0 || s.Following || s.Open != 0 || s.Came != s.Went {
				t.Errorf("after Run: %+v", s)
			}
		}()
		test(w)
	})
}

func (w *world) openList(ctx context.Context) (io.ReadCloser, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists = append(w.lists, time.Since(w.begun))
	if w.noList != nil {
		return nil, w.noList
	}
	r, out := io.Pipe()
	context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })
	w.list = out
	return r, nil
}

func (w *world) dial(ctx context.Context, url string, _ http.Header, _ *wsock.Config) (socket, error) {
	path := strings.TrimPrefix(url, "ws://gateway/containers/")
	w.mu.Lock()
	w.dials = append(w.dials, path)
	w.underway++
	w.most = max(w.most, w.underway)
	stalled, refusal := w.stalled, w.noDial
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.underway--
		w.mu.Unlock()
	}()
	if stalled != nil {
		select {
		case <-stalled:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if refusal != nil {
		return nil, refusal
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &fakeSocket{}
	s.held.Store(w.held)
	w.sockets[path] = s
	w.all = append(w.all, s)
	return s, nil
}

// say writes lines on the list, and lets what they set off settle.
func (w *world) say(lines ...string) {
	w.t.Helper()
	w.mu.Lock()
	list := w.list
	w.mu.Unlock()
	for _, line := range lines {
		if _, err := list.Write([]byte(line + "\n")); err != nil {
			w.t.Fatalf("nobody reads the list: %v", err)
		}
	}
	synctest.Wait()
}

func came(ids ...string) (lines []string) {
	for _, id := range ids {
		lines = append(lines, fmt.Sprintf(`{"came":%q}`, id))
	}
	return lines
}

// snapshot is a whole list of these.
func snapshot(ids ...string) []string {
	return append(came(ids...), fmt.Sprintf(`{"complete":%d}`, len(ids)))
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// socket is the newest at a path; the test fails if there was none.
func (w *world) socket(path string) *fakeSocket {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sockets[path]
	if s == nil {
		w.t.Fatalf("nothing was opened at %s, but at %q", path, w.dials)
	}
	return s
}

func (w *world) dialled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dials)
}

// wantDialled compares what was dialled so far: in any order, because handshakes that may begin together do.
func (w *world) wantDialled(want ...string) {
	w.t.Helper()
	got := w.dialled()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("dialled %q, want %q", got, want)
	}
}

func TestG6_WhatTheListNamesIsServedAndWhatWentIsLeft(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.say(came("a", "b")...)
		w.wantDialled("a/requests", "b/requests") // before the list is complete
		if w.f.Stats().Following {
			t.Error("following a list that is not complete")
		}
		w.say(`{"complete":2}`, `{}`, `{"came":"c"}`, `{"came":"c"}`, `{"went":"a"}`, `{"went":"a"}`, `{"went":"nobody"}`)
		w.wantDialled("a/requests", "b/requests", "c/requests")
		if !w.socket("a/requests").closed.Load() || w.socket("b/requests").closed.Load() {
			t.Error("the container that went, and no other, is to be closed")
		}
		if s := w.f.Stats(); !s.Following || s.Came != 3 || s.Went != 1 || s.Containers != 2 || s.Listening != 2 || !s.Connected {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestG6_NothingIsLeftUntilANewListIsComplete(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.say(snapshot("a", "b", "c")...)
		w.list.Close()
		pass(time.Second)
		for _, id := range []string{"a", "b", "c"} {
			if w.socket(id + "/requests").closed.Load() {
				t.Errorf("%s was closed because the list had ended", id)
			}
		}
		w.say(`{"came":"c"}`, `{"came":"d"}`, `{"came":"a"}`, `{"went":"a"}`)
		if w.socket("a/requests").closed.Load() || w.socket("b/requests").closed.Load() {
			t.Error("closed before the list was complete")
		}
		w.say(`{"complete":3}`)
		for id, closed := range map[string]bool{"a": true, "b": true, "c": false, "d": false} {
			if w.socket(id+"/requests").closed.Load() != closed {
				t.Errorf("%s: closed is not %v", id, closed)
			}
		}
		w.wantDialled("a/requests", "b/requests", "c/requests", "d/requests")
	})
}

func TestG6_TheListIsAskedForAgainAfterGrowingWaits(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.set(func() { w.noList = errors.New("refused") })
		w.list.Close()
		pass(4 * time.Second)
		want := []time.Duration{0, 50, 150, 350, 750, 1250, 1750, 2250, 2750, 3250, 3750} // halves of 100, 200 … 1,000
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !slices.Equal(w.lists, want) {
			t.Errorf("asked at %v, want %v", w.lists, want)
		}
		w.set(func() { w.noList = nil })
		pass(settled + time.Second)
		w.list.Close()
		before := time.Since(w.begun)
		pass(time.Second)
		if got := w.lists[len(w.lists)-1] - before; got != 50*time.Millisecond {
			t.Errorf("the wait after a lasting list is %v, want 50ms", got)
		}
		if s := w.f.Stats(); s.Lists != 3 || s.ListFailures != 12 {
			t.Errorf("%d lists and %d failures, want 3 and 12", s.Lists, s.ListFailures)
		}
	})
}

func TestG6_AListThatCannotBeReadIsAskedForAgain(t *testing.T) {
	for name, lines := range map[string][]string{
		"no JSON":         {`{"came":"a"`},
		"no object":       {`3`},
		"id of two kinds": {`{"came":1}`},
		"short":           {`{"came":"a"}`, `{"complete":2}`},
		"long":            {`{"came":"a"}`, `{"complete":0}`},
		"endless line":    {strings.Repeat(" ", longestLine)},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &Fleet{}, func(w *world) {
				w.say(lines[:len(lines)-1]...)
				w.list.Write([]byte(lines[len(lines)-1] + "\n"))
				pass(time.Second)
				if len(w.lists) != 2 {
					t.Fatalf("asked for %d lists, want 2", len(w.lists))
				}
				w.say(snapshot("a")...)
				w.wantDialled("a/requests")
			})
		})
	}
}

func TestG6_WhatIsNotKnownOnTheListIsIgnored(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.say(`{}`, ``, `{"note":{"came":"x"}}`, `{"came":"a","since":1}`, `{"came":".x"}`, `{"came":"a/b"}`, `{"came":""}`, ` {"complete" : 4} `, `null`, `{"complete":9}`)
		w.wantDialled("a/requests")
		if s := w.f.Stats(); s.Lists != 1 || s.UnknownIDs != 3 || !s.Following {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestG6_HandshakesAreBoundedAndKeepTheListsOrder(t *testing.T) {
	const many, dials = 100, 8
	inWorld(t, &Fleet{Dials: dials}, func(w *world) {
		w.set(func() { w.stalled = make(chan struct{}) })
		ids := make([]string, many)
		want := make([]string, many)
		for i := range ids {
			ids[i] = fmt.Sprintf("c%d", i)
			want[i] = ids[i] + "/requests"
		}
		w.say(snapshot(ids...)...)
		for n := dials; n < many; n++ {
			// Of those that begin together any may be the first.
			if got := w.dialled(); len(got) != n || n > dials && got[n-1] != want[n-1] {
				t.Fatalf("after %d handshakes %d had begun, the last %s", n-dials, len(got), got[len(got)-1])
			}
			w.stalled <- struct{}{}
			synctest.Wait()
		}
		close(w.stalled)
		synctest.Wait()
		if w.most != dials || w.f.Stats().Listening != many {
			t.Errorf("%d handshakes at once, want %d; %d containers listen", w.most, dials, w.f.Stats().Listening)
		}
	})
}

func TestG6_AContainerThatWentGivesItsTurnAway(t *testing.T) {
	inWorld(t, &Fleet{Dials: 1}, func(w *world) {
		w.set(func() { w.stalled = make(chan struct{}) })
		w.say(snapshot("a", "b", "c")...)
		w.say(`{"went":"b"}`)
		w.say(`{"went":"a"}`)
		w.wantDialled("a/requests", "c/requests")
		close(w.stalled)
	})
}

func TestAnAnswersHandshakeDoesNotWaitAndAKind4PathsGoesFirst(t *testing.T) {
	inWorld(t, &Fleet{Dials: 1}, func(w *world) {
		w.say(snapshot("a")...)
		w.set(func() { w.stalled = make(chan struct{}) })
		w.say(came("b", "c")...)
		w.socket("a/requests").message(ask(1, codec.CallTool, `{}`))
		w.socket("a/requests").message(ask(2, codec.Notifications, ""))
		synctest.Wait()
		w.wantDialled("a/requests", "b/requests", "a/mcp/call-tool/1")
		for range 2 { // either may be first
			w.stalled <- struct{}{}
		}
		synctest.Wait()
		w.wantDialled("a/requests", "b/requests", "a/mcp/call-tool/1", "a/mcp/notifications/2")
		close(w.stalled)
	})
}

func TestAKind4PathThatWaitsIsLostWithItsConnection(t *testing.T) {
	inWorld(t, &Fleet{Dials: 1}, func(w *world) {
		w.say(snapshot("a")...)
		w.set(func() { w.stalled = make(chan struct{}) })
		w.say(came("b")...)
		w.socket("a/requests").message(ask(2, codec.Notifications, ""))
		synctest.Wait()
		w.socket("a/requests").end(wsock.Ending{})
		synctest.Wait()
		if n := w.f.Stats().Outcomes[codec.Notifications][Lost]; n != 1 {
			t.Errorf("%d lost, want 1", n)
		}
		close(w.stalled)
	})
}

func TestAConnectionThatBreaksWithTheListWaitsForTheNext(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.say(snapshot("a", "b")...)
		w.set(func() { w.noList = errors.New("refused") })
		w.list.Close()
		synctest.Wait()
		w.socket("a/requests").end(wsock.Ending{})
		pass(time.Hour)
		w.wantDialled("a/requests", "b/requests")
		w.set(func() { w.noList = nil })
		pass(time.Second)
		w.say(`{"came":"b"}`)
		w.wantDialled("a/requests", "b/requests")
		w.say(`{"came":"a"}`)
		w.wantDialled("a/requests", "b/requests", "a/requests")
		w.say(`{"complete":2}`)
		if w.f.Stats().Listening != 2 {
			t.Errorf("stats %+v", w.f.Stats())
		}
		w.socket("b/requests").end(wsock.Ending{}) // and while there is a list it is opened again
		pass(time.Second)
		w.wantDialled("a/requests", "b/requests", "a/requests", "b/requests")
	})
}

func TestHandshakesThatAreDueWhenTheListBreaksWaitForTheNext(t *testing.T) {
	inWorld(t, &Fleet{Dials: 1}, func(w *world) {
		w.set(func() { w.stalled = make(chan struct{}) })
		w.say(snapshot("a", "b", "c", "d")...)
		w.list.Close()
		synctest.Wait()
		w.stalled <- struct{}{}
		pass(time.Hour)
		w.wantDialled("a/requests")
		close(w.stalled)
		w.say(came("d", "c")...)
		w.say(`{"went":"d"}`, `{"came":"b"}`, `{"complete":3}`)
		w.wantDialled("a/requests", "b/requests", "c/requests", "d/requests")
		if s := w.f.Stats(); s.Containers != 2 || s.Listening != 2 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestG6_AContainerThatWaitsForAListIsLeftWithIt(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.say(snapshot("a")...)
		w.list.Close()
		synctest.Wait()
		w.socket("a/requests").end(wsock.Ending{Clean: true, Code: 1012})
		pass(time.Second)
		w.say(`{"complete":0}`)
		if s := w.f.Stats(); s.Containers != 0 || s.Went != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestG6_AContainerThatComesAgainWaitsForItsFormerConnectionsEnd(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.set(func() { w.held = true })
		w.say(snapshot("a")...)
		former := w.socket("a/requests")
		w.set(func() { w.held = false })
		w.say(`{"went":"a"}`, `{"came":"a"}`)
		w.wantDialled("a/requests")
		former.end(wsock.Ending{Clean: true})
		synctest.Wait()
		w.wantDialled("a/requests", "a/requests")
		if s := w.f.Stats(); s.Containers != 1 || s.Listening != 1 {
			t.Errorf("stats %+v", s)
		}
		w.say(`{"went":"a"}`)
		if !w.socket("a/requests").closed.Load() {
			t.Error("the newer connection was not closed")
		}
	})
}

func TestG6_AContainerThatComesAndGoesWhileItIsLeftIsLeft(t *testing.T) {
	inWorld(t, &Fleet{}, func(w *world) {
		w.set(func() { w.held = true })
		w.say(snapshot("a")...)
		former := w.socket("a/requests")
		w.say(`{"went":"a"}`, `{"came":"a"}`, `{"went":"a"}`, `{"came":"a"}`, `{"went":"a"}`)
		w.wantDialled("a/requests")
		former.end(wsock.Ending{Clean: true})
		pass(time.Second)
		w.wantDialled("a/requests")
		if s := w.f.Stats(); s.Containers != 0 || s.Came != 3 {
			t.Errorf("stats %+v", s)
		}
	})
}
