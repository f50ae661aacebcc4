package outside

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// parcels is a sink that remembers what came together.
type parcels struct{ heard chan string }

func newParcels() *parcels { return &parcels{make(chan string, 1000)} }

func (s *parcels) Notify(n codec.Notification) { s.heard <- string(n.Method) }

func (s *parcels) NotifyAll(all []codec.Notification) {
	var methods []string
	for _, n := range all {
		methods = append(methods, string(n.Method))
	}
	s.heard <- strings.Join(methods, " ")
}

func framesOf(methods ...string) (frames []wstest.Frame) {
	for _, m := range methods {
		frames = append(frames, wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: notification(m)})
	}
	return frames
}

// parcelled is a provider whose notifications go to parcels.
func parcelled(t *testing.T) (*world, *provider, *wstest.Peer, *parcels) {
	sink := newParcels()
	w := begin(t, func(s *setup) { s.mux.NewSink = func(string) mux.Sink { return sink } })
	p, path := w.listening("default")
	return w, p, path, sink
}

// next is what came together next.
func (s *parcels) next(t *testing.T) string {
	t.Helper()
	select {
	case together := <-s.heard:
		return together
	case <-time.After(patience):
		t.Fatal("nothing was heard")
		return ""
	}
}

func (s *parcels) hears(t *testing.T, want ...string) {
	t.Helper()
	for _, one := range want {
		if got := s.next(t); got != one {
			t.Fatalf("heard %q, want %q", got, one)
		}
	}
	if len(s.heard) != 0 {
		t.Errorf("heard %q too", <-s.heard)
	}
}

func TestNotificationsOfOneReadAreHandedOnTogether(t *testing.T) {
	_, p, path, sink := parcelled(t)
	path.Send(framesOf("a", "b", "c")...)
	p.dealtWith(path)
	sink.hears(t, "a b c")
	path.Binary(notification("alone"))
	p.dealtWith(path)
	sink.hears(t, "alone")
}

func TestAWholeNotificationDoesNotWaitForTheRestOfTheNext(t *testing.T) {
	_, p, path, sink := parcelled(t)
	frames := framesOf("a", "b")
	frames[0].Masked, frames[1].Masked = true, true
	raw, next := wstest.AppendFrame(nil, frames[0]), wstest.AppendFrame(nil, frames[1])
	path.Raw(append(raw, next[:len(next)-1]...))
	if got := sink.next(t); got != "a" {
		t.Fatalf("heard %q", got)
	}
	path.Raw(next[len(next)-1:])
	p.dealtWith(path)
	sink.hears(t, "b")
}

func TestAPongSaysThatWhatCameBeforeThePingIsHandedOn(t *testing.T) {
	_, _, path, sink := parcelled(t)
	frames := framesOf("a", "b", "c")
	ping := wstest.Frame{Fin: true, Op: wstest.OpPing, Payload: []byte("?")}
	path.Send(frames[0], frames[1], ping, frames[2])
	path.ReadPong()
	if got := <-sink.heard; got != "a b" {
		t.Errorf("heard %q", got)
	}
	if got := sink.next(t); got != "c" {
		t.Errorf("heard %q", got)
	}
}

func TestWhatCameTogetherWithTheEndIsHandedOnBeforeIt(t *testing.T) {
	close1000 := wstest.Frame{Fin: true, Op: wstest.OpClose, Payload: wstest.CloseBody(1000, "")}
	for name, end := range map[string][]wstest.Frame{
		"a close":      {close1000},
		"an error":     {{Fin: true, Op: wstest.OpBinary, Payload: failure(`{"code":-32000,"message":"over"}`)}, framesOf("late")[0], close1000},
		"a violation":  {{Fin: true, Op: 3}},
		"one too big":  {{Fin: true, Op: wstest.OpBinary, Payload: make([]byte, 2<<20)}},
		"undecodables": {{Fin: true, Op: wstest.OpBinary}, {Fin: true, Op: wstest.OpBinary, Payload: []byte{2}}, close1000},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, path, sink := parcelled(t)
			path.Send(append(framesOf("a", "b"), end...)...)
			path.ReadClose()
			w.eventuallyClosed("notifications")
			sink.hears(t, "a b")
		})
	}
}

func TestN3_AnErrorInTheMiddleOfWhatCameTogetherIsTheLast(t *testing.T) {
	w, p, path, sink := parcelled(t)
	frames := framesOf("a", "b", "late", "later")
	over := wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: failure(`{"code":-32000,"message":"over"}`)}
	path.Send(frames[0], frames[1], over, frames[2], frames[3])
	p.dealtWith(path)
	sink.hears(t, "a b")
	if n := w.mux.Stats().ErrorEnds; n != 1 {
		t.Errorf("%d error ends", n)
	}
}

func TestWhatIsHandedOnTogetherIsBounded(t *testing.T) {
	_, p, path, sink := parcelled(t)
	const many = mostBundled + 6
	var frames []wstest.Frame
	for i := range many {
		frames = append(frames, framesOf(fmt.Sprint(i))...)
	}
	path.Send(frames...)
	p.dealtWith(path)
	heard := 0
	for len(sink.heard) > 0 {
		methods := strings.Fields(<-sink.heard)
		if len(methods) > mostBundled {
			t.Errorf("%d at once", len(methods))
		}
		for _, m := range methods {
			if m != fmt.Sprint(heard) {
				t.Fatalf("heard %s, want %d", m, heard)
			}
			heard++
		}
	}
	if heard != many {
		t.Errorf("heard %d of %d", heard, many)
	}
}

func TestAPanicAmidWhatCameTogetherIsAnAbruptEnd(t *testing.T) {
	w := begin(t, func(s *setup) { s.mux.NewSink = func(string) mux.Sink { return panics{} } })
	w.faulty = true
	p, path := w.listening("default")
	path.Send(framesOf("a", "b", "c")...)
	path.ReadGone()
	w.eventuallyClosed("notifications")
	p.again(p.notifications(), 0)
	if n := w.counts.panics(); n != 1 {
		t.Errorf("%d panics were counted", n)
	}
}
