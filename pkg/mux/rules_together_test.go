package mux

import (
	"slices"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// togetherSink remembers how many came at once, too.
type togetherSink struct {
	fakeSink
	sizes []int
}

func (s *togetherSink) NotifyAll(all []codec.Notification) {
	s.sizes = append(s.sizes, len(all))
	for _, n := range all {
		s.Notify(n)
	}
}

// notificationsPath is the path of a container whose sink is s; nil for none.
func notificationsPath(t *testing.T, s Sink) (*Mux, *Path) {
	t.Helper()
	m := New(Config{NewSink: func(string) Sink { return s }})
	t.Cleanup(m.Stop)
	m.Container("a").Ask(codec.CallTool, []byte("{}"), &fakeCaller{})
	claim, err := m.Claim("a")
	if err != nil {
		t.Fatal(err)
	}
	l := new(fakeLine)
	claim.Attach(l)
	for _, f := range l.all() {
		if f.kind == codec.Notifications {
			p, err := m.Open("a", f.kind, f.channel, new(fakeSocket))
			if err != nil {
				t.Fatal(err)
			}
			return m, p
		}
	}
	t.Fatal("no notifications ask")
	return nil, nil
}

func TestN7_NotificationsThatCameTogetherAreHeardTogetherAndInOrder(t *testing.T) {
	want := []string{"a", "b", "c"}
	frames := [][]byte{notificationFrame("a"), notificationFrame("b"), notificationFrame("c")}
	plain, together := new(fakeSink), new(togetherSink)
	for _, s := range []Sink{plain, together} {
		m, p := notificationsPath(t, s)
		if p.Notification(frames...) || p.Notification() {
			t.Error("one was the last")
		}
		p.Notification(frames[0])
		if n := m.Stats().Notifications; n != 4 {
			t.Errorf("%d were counted", n)
		}
		p.Broke()
	}
	want = append(want, "a")
	if !slices.Equal(plain.heard, want) || !slices.Equal(together.heard, want) {
		t.Errorf("heard %q and %q", plain.heard, together.heard)
	}
	if !slices.Equal(together.sizes, []int{3}) {
		t.Errorf("at once came %v", together.sizes)
	}
}

func TestN6_WhatCannotBeDecodedDoesNotKeepBackWhatCameWithIt(t *testing.T) {
	s := new(togetherSink)
	m, p := notificationsPath(t, s)
	p.Notification(notificationFrame("a"), nil, []byte{0, '{'}, notificationFrame("b"))
	p.Notification([]byte{2})
	if !slices.Equal(s.heard, []string{"a", "b"}) {
		t.Errorf("heard %q", s.heard)
	}
	if got := m.Stats(); got.Undecodable != 3 || got.Notifications != 2 {
		t.Errorf("stats %+v", got)
	}
	p.Broke()
}

func TestN3_WhatComesTogetherBehindAnErrorChangesNothing(t *testing.T) {
	s := new(togetherSink)
	m, p := notificationsPath(t, s)
	if !p.Notification(notificationFrame("a"), notificationFrame("b"), errorFrame, notificationFrame("late"), []byte{0}) {
		t.Error("the error is not the last")
	}
	if !p.Notification(notificationFrame("later"), notificationFrame("latest")) {
		t.Error("what is behind the last is not behind it")
	}
	if !slices.Equal(s.heard, []string{"a", "b"}) {
		t.Errorf("heard %q", s.heard)
	}
	if got := m.Stats(); got.ErrorEnds != 1 || got.Undecodable != 0 || got.Notifications != 2 {
		t.Errorf("stats %+v", got)
	}
	p.Broke()
}

func TestNotificationsThatCameTogetherForNobodyAreCountedAsUnheard(t *testing.T) {
	m, p := notificationsPath(t, nil)
	p.Notification(notificationFrame("a"), notificationFrame("b"))
	if got := m.Stats(); got.Unheard != 2 || got.Notifications != 0 {
		t.Errorf("stats %+v", got)
	}
	p.Broke()
}
