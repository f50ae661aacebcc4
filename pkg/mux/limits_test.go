package mux

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

func limited(l Limits) func(*Config) { return func(c *Config) { c.Limits = l } }

// refusedAsk fails unless an ask is refused by that limit, and its caller told nothing.
func (w *world) refusedAsk(c *Container, want Limit, most int) {
	w.t.Helper()
	caller := &fakeCaller{}
	a, err := c.Ask(codec.CallTool, nil, caller)
	var over *LimitError
	if !errors.As(err, &over) || over.Limit != want || over.Most != most {
		w.t.Fatalf("asked: %v, want to be over %v, which is %d", err, want, most)
	}
	if a != nil || len(caller.log) != 0 {
		w.t.Fatal("a refused ask is there, or its caller was told something")
	}
	if text := err.Error(); !strings.Contains(text, fmt.Sprint(most)) || !strings.Contains(text, "again") {
		w.t.Fatalf("%q does not say how many there may be, or what to do", text)
	}
}

func TestAnAskOverALimitIsRefusedByItsName(t *testing.T) {
	w := begin(t, limited(Limits{Asks: 3, Waiting: 2, AsksTotal: 4}))
	first := w.ask(codec.CallTool, "1")
	w.ask(codec.CallTool, "2")
	w.refusedAsk(w.c, LimitWaiting, 2)
	_, l := w.connect() // what waits for a server waits no longer
	w.ask(codec.ListTools, "3")
	w.refusedAsk(w.c, LimitAsks, 3)
	other := there(w.m.Container("other"))
	kept := taken(other.Ask(codec.ReadResource, nil, &fakeCaller{}))
	w.refusedAsk(other, LimitAsksTotal, 4)
	if !kept.Leave() {
		t.Fatal("an ask that nobody has heard of cannot be left")
	}
	taken(other.Ask(codec.ReadResource, nil, &fakeCaller{}))
	w.refusedAsk(other, LimitAsksTotal, 4)
	w.answer(l.all()[0])
	w.settled(first, Answered)
	w.ask(codec.CallTool, "4")
	w.refusedAsk(w.c, LimitAsks, 3)
}

// TestAnAskCountsForAsLongAsItsServerMayAnswer keeps who asks and leaves, and asks
// and leaves, from piling up asks with the server.
func TestAnAskCountsForAsLongAsItsServerMayAnswer(t *testing.T) {
	w := begin(t, limited(Limits{Asks: 1}))
	cl, l := w.connect()
	left := w.ask(codec.CallTool, "1")
	left.Leave()
	w.refusedAsk(w.c, LimitAsks, 1)
	w.answer(l.all()[0]) // and nobody hears it
	again := w.ask(codec.CallTool, "2")
	again.Cancel()
	w.refusedAsk(w.c, LimitAsks, 1)
	cl.Detach() // the server has forgotten it
	w.ask(codec.CallTool, "3")
}

// TestAnAskThatAServerHasHeardOfWaitsForTheNextWithoutLimit has those that were
// lost wait beside new ones.
func TestAnAskThatAServerHasHeardOfWaitsForTheNextWithoutLimit(t *testing.T) {
	w := begin(t, limited(Limits{Waiting: 1}))
	cl, _ := w.connect()
	for i := range 3 {
		w.ask(codec.CallTool, fmt.Sprint(i))
	}
	cl.Detach()
	w.ask(codec.CallTool, "new")
	w.refusedAsk(w.c, LimitWaiting, 1)
	if inFlight, waiting := w.c.Asks(); inFlight != 4 || waiting != 1 {
		t.Fatalf("%d asks in flight, %d unheard of, want 4 and 1", inFlight, waiting)
	}
}

func TestARefusalAllocatesNoMoreThanTheAsk(t *testing.T) {
	w := begin(t, limited(Limits{Asks: 1}))
	w.ask(codec.CallTool, "1")
	q := &fakeCaller{}
	if n := testing.AllocsPerRun(100, func() { _, _ = w.c.Ask(codec.CallTool, nil, q) }); n > 1 {
		t.Fatalf("%v allocations per refusal", n)
	}
}

// TestTheLimitOfAllIsNeverExceeded has many containers ask for all kinds at once.
func TestTheLimitOfAllIsNeverExceeded(t *testing.T) {
	const most, askers, rounds = 5, 8, 2000
	m := newMux(Config{Limits: Limits{AsksTotal: most}}, 64, 64)
	var inFlight, highest, refused atomic.Int64
	var all sync.WaitGroup
	for i := range askers {
		all.Go(func() {
			c := there(m.Container(fmt.Sprint(i)))
			for n := range rounds {
				a, err := c.Ask(answerKinds[(i+n)%len(answerKinds)], nil, &fakeCaller{})
				if err != nil {
					refused.Add(1)
					continue
				}
				now := inFlight.Add(1)
				for h := highest.Load(); now > h && !highest.CompareAndSwap(h, now); h = highest.Load() {
				}
				runtime.Gosched()
				inFlight.Add(-1)
				a.Leave()
			}
		})
	}
	all.Wait()
	if h := highest.Load(); h > most {
		t.Fatalf("%d asks were in flight, of at most %d", h, most)
	}
	if s := m.Stats(); s.Waiting != 0 {
		t.Fatalf("%d asks are left", s.Waiting)
	}
	t.Logf("at most %d at once, %d refused", highest.Load(), refused.Load())
	// Nothing is counted for ever.
	c := there(m.Container("last"))
	for range most {
		taken(c.Ask(codec.ListTools, nil, &fakeCaller{}))
	}
}

func (w *world) refusedContainer(err error, most int) {
	w.t.Helper()
	var over *LimitError
	if !errors.As(err, &over) || over.Limit != LimitContainers || over.Most != most {
		w.t.Fatalf("%v, want to be over the limit of %d containers", err, most)
	}
}

func TestOverTheLimitOfContainersThoseThatAreThereGoOn(t *testing.T) {
	w := begin(t, limited(Limits{Containers: 2}))
	there(w.m.Enter("one"))
	there(w.m.Enter("two"))
	_, err := w.m.Enter("three")
	w.refusedContainer(err, 2)
	_, err = w.m.Claim("three")
	w.refusedContainer(err, 2)
	_, err = w.m.Container("three")
	w.refusedContainer(err, 2)
	there(w.m.Enter("one"))
	if _, err := w.m.Claim("two"); err != nil {
		t.Fatal(err)
	}
	w.ask(codec.CallTool, "goes on")
	if w.m.Lookup("three") != nil || w.m.Stats().Containers != 2 {
		t.Fatal("a refused container is there")
	}
}

// TestContainersInWhichNothingHappensMakeRoom also has those that are used, and
// the one that rested least, stay.
func TestContainersInWhichNothingHappensMakeRoom(t *testing.T) {
	told := 0
	w := begin(t, limited(Limits{Containers: 4}), func(c *Config) { c.MakesRoom = func() { told++ } })
	there(w.m.Enter("entered"))
	if _, err := w.m.Claim("one"); err != nil {
		t.Fatal(err)
	}
	f := &fakeFollower{}
	w.m.Follow(f)
	there(w.m.Enter("one")).Exit() // is claimed, and has no activity
	there(w.m.Enter("longest")).Exit()
	w.now = w.now.Add(idle / 4)
	there(w.m.Enter("least")).Exit()
	w.now = w.now.Add(idle / 4)
	f.take()
	there(w.m.Enter("new"))
	for id, want := range map[string]bool{"entered": true, "one": true, "least": true, "new": true, "longest": false} {
		if got := w.m.Lookup(id) != nil; got != want {
			t.Errorf("container %s is there: %v, want %v", id, got, want)
		}
	}
	if heard := fmt.Sprint(f.take()); heard != "[went longest came new]" {
		t.Errorf("the follower was told %s: one that is claimed is not gone early", heard)
	}
	if n := w.m.Stats().ForgottenEarly; n != 1 || told != 1 {
		t.Errorf("%d forgotten early, which was told %d times", n, told)
	}
}

func TestContainersThatAreKeptForEverMakeNoRoom(t *testing.T) {
	w := begin(t, limited(Limits{Containers: 2}), func(c *Config) { c.Idle = 0 })
	there(w.m.Enter("two")).Exit()
	w.now = w.now.Add(1000 * idle)
	_, err := w.m.Enter("three")
	w.refusedContainer(err, 2)
}

// TestAFloodOfContainersDoesNotLookForRoomEachTime counts looks by their cost: a
// second one within the shortest rest is none.
func TestAFloodOfContainersDoesNotLookForRoomEachTime(t *testing.T) {
	w := begin(t, limited(Limits{Containers: 2}))
	two := there(w.m.Enter("two"))
	claim, err := w.m.Claim("one")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.m.Enter("three")
	w.refusedContainer(err, 2)
	claim.Detach()
	two.Exit()
	w.now = w.now.Add(shortestRest - 1)
	_, err = w.m.Enter("three")
	w.refusedContainer(err, 2)
	w.now = w.now.Add(time.Duration(1))
	there(w.m.Enter("three"))
}

// TestAnAskOfAForgottenContainerMayFindNoPlace is the ask of who held on to it.
func TestAnAskOfAForgottenContainerMayFindNoPlace(t *testing.T) {
	w := begin(t, limited(Limits{Containers: 1}))
	w.pass(idle)
	there(w.m.Enter("another"))
	w.refusedAsk(w.c, LimitContainers, 1)
}
