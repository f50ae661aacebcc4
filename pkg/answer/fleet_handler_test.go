package answer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
	"github.com/diverge-network/gateway/pkg/codec"
)

// call has a container asked for a tool call, and returns what was sent on the answer path.
func (w *world) call(id string, channel uint32) string {
	w.t.Helper()
	w.socket(id + "/requests").message(ask(channel, codec.CallTool, `{}`))
	synctest.Wait()
	path := w.socket(fmt.Sprintf("%s/mcp/call-tool/%d", id, channel))
	path.mu.Lock()
	defer path.mu.Unlock()
	return strings.Join(path.sent, "|")
}

// record is what happened, in order.
type record struct {
	mu   sync.Mutex
	what []string
}

func (r *record) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.what = append(r.what, what)
}

// Write takes a line of a log.
func (r *record) Write(line []byte) (int, error) {
	r.add(string(line))
	return len(line), nil
}

func (r *record) want(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.what, want) {
		t.Fatalf("what happened is %q, want %q", r.what, want)
	}
}

func TestAHandlerIsMadeWithTheFirstAskAndReleasedBehindTheLastCall(t *testing.T) {
	var r record
	wait := make(chan struct{})
	f := &Fleet{Handler: func(container string) (Handler, func(), error) {
		r.add("made " + container)
		return handler{answer: func(ctx context.Context, _ codec.Kind, _ []byte) ([]byte, error) {
			select {
			case <-wait:
			case <-ctx.Done():
				r.add("ended: " + context.Cause(ctx).Error())
			}
			return []byte(`{}`), nil
		}}, func() { r.add("released " + container) }, nil
	}}
	inWorld(t, f, func(w *world) {
		wait = make(chan struct{})
		w.say(snapshot("a", "b")...)
		r.want(t)
		w.call("b", 1)
		w.socket("b/requests").message(ask(2, codec.Notifications, ""))
		synctest.Wait()
		r.want(t, "made b")
		w.say(`{"went":"a"}`, `{"went":"b"}`)
		if !w.socket("b/requests").closed.Load() || w.socket("b/mcp/notifications/2").closed.Load() {
			t.Error("/requests is closed at once, the notifications path behind the running call")
		}
		w.say(`{"came":"b"}`) // does not wait for the call
		w.call("b", 3)
		r.want(t, "made b", "made b")
		pass(DefaultDrain - time.Millisecond)
		r.want(t, "made b", "made b")
		pass(time.Millisecond)
		r.want(t, "made b", "made b", "ended: "+errStopped.Error(), "released b")
		if !w.socket("b/mcp/notifications/2").closed.Load() {
			t.Error("the notifications path was not closed")
		}
		close(wait)
		synctest.Wait()
		w.say(`{"went":"b"}`)
		r.want(t, "made b", "made b", "ended: "+errStopped.Error(), "released b", "released b")
	})
}

func TestAnErrorOfMakingAHandlerAnswersTheAskAndTheNextTriesAgain(t *testing.T) {
	made := 0
	f := &Fleet{Handler: func(string) (Handler, func(), error) {
		made++
		switch made {
		case 1:
			return nil, nil, errors.New("no room")
		case 2:
			return nil, nil, &codec.Error{Code: 7, Message: "m"}
		case 3:
			return nil, nil, nil
		case 4:
			panic("oops")
		}
		return fixed(`{"ok":1}`, nil), func() { panic("oops") }, nil
	}}
	inWorld(t, f, func(w *world) {
		w.say(snapshot("a")...)
		for i, want := range []string{
			"\x01" + `{"code":-32603,"message":"the server failed while it served this ask"}`,
			"\x01" + `{"code":7,"message":"m"}`,
			"\x01" + `{"code":-32603,"message":"the server failed while it served this ask"}`,
			"\x01" + `{"code":-32603,"message":"the server failed while it served this ask"}`,
			"\x00" + `{"ok":1}`,
			"\x00" + `{"ok":1}`,
		} {
			if got := w.call("a", uint32(i)+1); got != want {
				t.Errorf("ask %d is answered with %q, want %q", i+1, got, want)
			}
		}
		w.say(`{"went":"a"}`)
		if made != 5 || f.Stats().Panics != 2 || f.Stats().Containers != 0 {
			t.Errorf("made %d times; stats %+v", made, f.Stats())
		}
	})
}

func TestAFleetWarnsOnceOfManyConnections(t *testing.T) {
	const many = 100
	var log record
	f := &Fleet{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))}
	inWorld(t, f, func(w *world) {
		ids := make([]string, many)
		for i := range ids {
			ids[i] = fmt.Sprintf("c%d", i)
		}
		w.say(snapshot(ids...)...)
		for _, id := range ids {
			w.socket(id + "/requests").end(wsock.Ending{})
		}
		w.set(func() { w.noDial = &wsock.RefusedError{Status: 409, Reason: "another server is connected"} })
		pass(hushed - time.Second)
		want := func(lines int) {
			t.Helper()
			log.mu.Lock()
			defer log.mu.Unlock()
			if got := len(log.what); got != lines {
				t.Errorf("%d lines were logged, want %d: %q", got, lines, log.what)
			}
		}
		want(2) // the list, and one connection that ended
		pass(hushed)
		want(3) // one that is refused
		if n := f.Stats().DialFailures; n < 5*many {
			t.Errorf("%d dials failed", n)
		}
	})
}
