package mux

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// forgotten fails unless container one is there, or is not.
func (w *world) forgotten(want bool) {
	w.t.Helper()
	if got := w.m.Lookup("one") != w.c; got != want {
		w.t.Fatalf("forgotten: %v, want %v", got, want)
	}
}

func TestG5_AContainerThatDidNothingIsForgotten(t *testing.T) {
	w := begin(t)
	w.pass(idle - 1)
	w.forgotten(false)
	w.pass(1)
	w.forgotten(true)
	if s := w.m.Stats(); s.Containers != 0 || w.sink.forgotten != 1 {
		t.Fatalf("%d containers, the sink was told %d times", s.Containers, w.sink.forgotten)
	}
	w.pass(idle)
	if w.sink.forgotten != 1 {
		t.Fatal("forgotten twice")
	}
}

func TestG5_NothingIsForgottenWithoutAnIdleTime(t *testing.T) {
	w := begin(t, func(c *Config) { c.Idle = 0 })
	there(w.m.Enter("one")).Exit()
	w.pass(1000 * idle)
	w.forgotten(false)
	if w.m.Stats().Present != 1 {
		t.Fatal("gone")
	}
}

func TestG5_WhateverAContainerHasKeepsItUntilAnIdleTimeAfterItsEnd(t *testing.T) {
	for name, begins := range map[string]func(w *world) (ends func()){
		"an inside activity": func(w *world) func() { return there(w.m.Enter("one")).Exit },
		"a claim before its upgrade": func(w *world) func() {
			cl, err := w.m.Claim("one")
			if err != nil {
				w.t.Fatal(err)
			}
			return cl.Detach
		},
		"a connection": func(w *world) func() {
			cl, _ := w.connect()
			return cl.Detach
		},
		"an ask that waits": func(w *world) func() {
			e := w.ask(codec.CallTool, "a")
			return func() { e.Leave() }
		},
		"a path whose caller and connection are gone": func(w *world) func() {
			e := w.ask(codec.CallTool, "a")
			cl, l := w.connect()
			p := w.open(l.all()[0])
			cl.Detach()
			e.Leave()
			return p.Broke
		},
		"a notifications path whose connection is gone": func(w *world) func() {
			e := w.ask(codec.CallTool, "a")
			cl, l := w.connect()
			w.answer(l.all()[0])
			w.settled(e, Answered)
			p := w.open(l.all()[1])
			cl.Detach()
			return func() { p.Closed(nil) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			ends := begins(w)
			w.pass(10 * idle)
			w.forgotten(false)
			ends()
			w.pass(idle - 1)
			w.forgotten(false)
			w.pass(1)
			w.forgotten(true)
			if n := w.m.channels.rows.Size(); n != 0 {
				t.Fatalf("%d channels are left in the table", n)
			}
			if s := w.m.Stats(); s.Waiting+s.Announced+s.Open != 0 || s.Resident != (ResidentStats{}) {
				t.Fatalf("left behind: %+v", s)
			}
		})
	}
}

func TestG5_ASinkIsToldBeforeTheContainerBeginsAgain(t *testing.T) {
	var told []string
	w := begin(t, func(c *Config) {
		c.NewSink = func(id string) Sink {
			told = append(told, "new "+id)
			return sinkFunc(func() { told = append(told, "forgotten "+id) })
		}
	})
	w.pass(idle)
	there(w.m.Enter("one")).Exit()
	if want := []string{"new one", "forgotten one", "new one"}; !slices.Equal(told, want) {
		t.Fatalf("told %q, want %q", told, want)
	}
}

// TestG5_WhatFindsAContainerThatIsBeingForgottenBeginsItsSuccessor arrives just
// before the container is out of the table.
func TestG5_WhatFindsAContainerThatIsBeingForgottenBeginsItsSuccessor(t *testing.T) {
	for name, arrive := range map[string]func(w *world){
		"enter": func(w *world) {
			if c := there(w.m.Enter("one")); c == w.c {
				w.t.Error("the forgotten container was entered")
			}
		},
		"claim": func(w *world) {
			if cl, err := w.m.Claim("one"); err != nil || cl.container == w.c {
				w.t.Errorf("the forgotten container was claimed, or %v", err)
			}
		},
		"ask": func(w *world) {
			if a := taken(w.c.Ask(codec.CallTool, nil, &fakeCaller{})); a.container == w.c {
				w.t.Error("the forgotten container was asked")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w *world
			var arrived sync.WaitGroup
			forgotten := sinkFunc(func() {
				arrived.Go(func() { arrive(w) })
				for range 1000 { // it gets as far as it can
					runtime.Gosched()
				}
			})
			w = begin(t, func(c *Config) { c.NewSink = func(string) Sink { return forgotten } })
			w.pass(idle)
			arrived.Wait()
			if w.m.Stats().Containers != 1 {
				t.Error("there is no successor")
			}
		})
	}
}

func TestG5_ASinkThatPanicsWhenForgottenLeavesNothingBehind(t *testing.T) {
	w := begin(t, func(c *Config) { c.NewSink = func(string) Sink { return sinkFunc(func() { panic("a sink's fault") }) } })
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		w.pass(idle)
	}()
	if there(w.m.Enter("one")) == w.c {
		t.Error("the forgotten container was entered")
	}
}

// sinkFunc is called when its container is forgotten.
type sinkFunc func()

func (sinkFunc) Notify(codec.Notification) {}
func (f sinkFunc) Forgotten()              { f() }

func TestG5_AClaimOrAnAskBeginsAForgottenContainerAgain(t *testing.T) {
	w := begin(t)
	w.pass(idle)
	cl, err := w.m.Claim("one")
	if err != nil {
		t.Fatal(err)
	}
	l := &fakeLine{}
	cl.Attach(l)
	// w.c is the forgotten one.
	e := w.ask(codec.CallTool, "a")
	w.answer(w.frames(l, "call-tool a", "notifications ")[0])
	w.settled(e, Answered)
	if w.m.Stats().Containers != 1 {
		t.Fatal("the ask began one more")
	}
}

func TestR2_ALateOpeningOfAnOldChannelIs404AfterTheContainerWasForgotten(t *testing.T) {
	w := begin(t, func(c *Config) { c.FirstChannel = nil })
	for range 50 {
		e := w.ask(codec.CallTool, "old")
		cl, l := w.connect()
		old := l.all()[0]
		cl.Detach()
		e.Leave()
		w.pass(idle)
		w.forgotten(true)
		w.unknown(old)

		w.c = there(w.m.Container("one"))
		again := w.ask(codec.CallTool, "new")
		cl, _ = w.connect()
		w.unknown(old) // for all that its successor has an ask of that kind
		again.Leave()
		cl.Detach()
	}
}

// TestR2_ContainersWithOneSerialKeepTheirChannelsApart begins so many containers
// that serials come round.
func TestR2_ContainersWithOneSerialKeepTheirChannelsApart(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	w.m.serial-- // 2^32 - 1 containers later
	other := there(w.m.Container("other"))
	if other.serial != w.c.serial {
		t.Fatal("the serials differ")
	}
	cl, err := w.m.Claim("other")
	if err != nil {
		t.Fatal(err)
	}
	theirs := &fakeLine{}
	cl.Attach(theirs)
	mine := w.ask(codec.CallTool, "mine")
	caller := &fakeCaller{}
	other.Ask(codec.CallTool, []byte("theirs"), caller)
	w.answer(l.all()[0])
	w.settled(mine, Answered)
	f := theirs.all()[0]
	w.unknown(f)
	p, err := w.m.Open("other", f.kind, f.channel, &fakeSocket{})
	if err != nil {
		t.Fatal(err)
	}
	p.Closed(nil)
	if len(caller.log) != 1 || caller.log[0].Outcome != NotServed {
		t.Fatalf("settled as %v", caller.log)
	}
}

// expect fails unless f was told exactly that since it was last asked.
func (f *fakeFollower) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := f.take(); !slices.Equal(got, want) {
		t.Fatalf("told %q, want %q", got, want)
	}
}

func TestG6_FollowersHearOfWhatIsPresentAndThenOfEachChange(t *testing.T) {
	w := begin(t)
	f, late := &fakeFollower{}, &fakeFollower{}
	stop := w.m.Follow(f)
	f.expect(t, "snapshot ") // a container without inside activity is not present
	a, b := there(w.m.Enter("a")), there(w.m.Enter("b"))
	there(w.m.Enter("a")).Exit()
	f.expect(t, "came a", "came b")
	defer w.m.Follow(late)()
	late.expect(t, "snapshot a b")
	if n := w.m.Stats().Present; n != 2 {
		t.Fatalf("%d are present", n)
	}

	a.Exit()
	w.pass(idle - 1)
	f.expect(t)
	w.pass(1)
	f.expect(t, "went a")
	late.expect(t, "went a")
	stop()
	stop()

	there(w.m.Enter("a")).Exit() // whether it was forgotten meanwhile or not
	b.Exit()
	f.expect(t)
	late.expect(t, "came a")
	w.pass(idle)
	if got := late.take(); !slices.Contains(got, "went a") || !slices.Contains(got, "went b") || len(got) != 2 {
		t.Fatalf("told %q", got)
	}
	if n := w.m.Stats().Present; n != 0 {
		t.Fatalf("%d are present", n)
	}
}

func TestG6_AContainerWithAServerIsGoneButNotForgotten(t *testing.T) {
	w := begin(t)
	f := &fakeFollower{}
	defer w.m.Follow(f)()
	there(w.m.Enter("one")).Exit()
	cl, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	w.answer(l.all()[0])
	w.settled(e, Answered)
	f.expect(t, "snapshot ", "came one")
	w.pass(idle)
	f.expect(t, "went one")
	w.pass(10 * idle)
	w.forgotten(false)

	there(w.m.Enter("one")).Exit() // an activity lets it come again
	f.expect(t, "came one")
	w.pass(idle)
	f.expect(t, "went one")

	cl.Detach() // as a server does that follows the list
	w.pass(idle)
	w.forgotten(true)
	f.expect(t)
}

func TestG6_ACallThatTakesLongKeepsItsContainerPresent(t *testing.T) {
	w := begin(t)
	f := &fakeFollower{}
	defer w.m.Follow(f)()
	there(w.m.Enter("one"))
	there(w.m.Enter("one")).Exit()
	w.pass(100 * idle)
	f.expect(t, "snapshot ", "came one")
	w.c.Exit()
	w.pass(idle)
	f.expect(t, "went one")
}

func TestG6_AnExitTooManyIsAFaultAndNothingElse(t *testing.T) {
	w := begin(t)
	strict = false
	defer func() { strict = true }()
	w.c.Exit()
	there(w.m.Enter("one"))
	if s := w.m.Stats(); s.Illegal != 1 || s.Present != 1 {
		t.Fatalf("stats %+v", s)
	}
	w.pass(10 * idle)
	w.forgotten(false)
}

func TestG6_TimeThatGoesBackReportsNothing(t *testing.T) {
	w := begin(t)
	f := &fakeFollower{}
	defer w.m.Follow(f)()
	for i := range 3 {
		there(w.m.Enter(fmt.Sprint(i))).Exit()
	}
	w.pass(-10 * idle)
	w.pass(time.Second)
	f.expect(t, "snapshot ", "came 0", "came 1", "came 2")
}
