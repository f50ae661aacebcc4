package mux

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestR2_ChannelsAscendFromTheFirst(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	for range 4 {
		w.ask(codec.CallTool, "{}")
	}
	for i, f := range l.all() {
		if f.channel != 100+uint32(i) {
			t.Fatalf("channels %v do not ascend from 100", l.all())
		}
	}
}

func TestR2_FirstChannelIsRandomIn1To2Pow31(t *testing.T) {
	m := newMux(Config{}, 64, 64)
	seen := map[uint32]bool{}
	for i := range 1000 {
		first := there(m.Container(fmt.Sprint("c", i))).nextChannel
		if first < 1 || first > 1<<31 {
			t.Fatalf("first channel %d", first)
		}
		seen[first] = true
	}
	if len(seen) < 990 {
		t.Fatalf("1000 containers have only %d different first channels", len(seen))
	}
}

func TestR2_FirstChannelIsNever0(t *testing.T) {
	w := begin(t, func(c *Config) { c.FirstChannel = func() uint32 { return 0 } })
	_, l := w.connect()
	w.ask(codec.CallTool, "{}")
	if l.all()[0].channel != 1 {
		t.Fatalf("channel %d, want 1", l.all()[0].channel)
	}
}

func TestR2_After4294967295ItContinuesAt1SkippingChannelsInUse(t *testing.T) {
	w := begin(t, func(c *Config) { c.FirstChannel = func() uint32 { return 1 } })
	_, l := w.connect()
	w.ask(codec.CallTool, "first")  // 1; the notifications ask takes 2
	w.ask(codec.CallTool, "second") // 3
	w.answer(l.all()[2])
	w.c.nextChannel = 4294967294
	for range 4 {
		w.ask(codec.CallTool, "{}")
	}
	var got []uint32
	for _, f := range l.all()[3:] {
		got = append(got, f.channel)
	}
	if want := []uint32{4294967294, 4294967295, 3, 4}; !slices.Equal(got, want) {
		t.Fatalf("channels %v, want %v", got, want)
	}
}

func TestR2_WireOrderIsChannelOrderWhenManyAskAtOnce(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				w.c.Ask(codec.ListTools, nil, &fakeCaller{})
			}
		})
	}
	all.Wait()
	if len(l.all()) != 1601 {
		t.Fatalf("%d frames", len(l.all()))
	}
	for i, f := range l.all() {
		if f.channel != 100+uint32(i) {
			t.Fatalf("frame %d has channel %d", i, f.channel)
		}
	}
}

func TestR5_SecondClaimIsRefusedAndTheHolderIsProbed(t *testing.T) {
	w := begin(t)
	_, l := w.connect()
	if _, err := w.m.Claim("one"); err != ErrClaimed {
		t.Fatalf("second claim: %v, want %v", err, ErrClaimed)
	}
	if l.probes != 1 {
		t.Fatalf("the holder was probed %d times, want once", l.probes)
	}
}

func TestR5_ClaimWhoseUpgradeNeverCompletesIsFreed(t *testing.T) {
	w := begin(t)
	cl, err := w.m.Claim("one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.m.Claim("one"); err != ErrClaimed {
		t.Fatalf("a claim during the upgrade: %v, want %v", err, ErrClaimed)
	}
	cl.Detach()
	w.connect()
}

func TestR5_LateDetachDoesNotEndTheNextClaim(t *testing.T) {
	w := begin(t)
	old, _ := w.connect()
	old.Detach()
	_, l := w.connect()
	old.Detach()
	if _, err := w.m.Claim("one"); err != ErrClaimed {
		t.Fatalf("the second claim was lost to the first one's second Detach: %v", err)
	}
	w.ask(codec.CallTool, "a")
	w.frames(l, "call-tool a", "notifications ")
}

func TestR5_AsksWaitWhileTheClaimIsHeldAndNotLive(t *testing.T) {
	w := begin(t)
	cl, _ := w.m.Claim("one")
	w.ask(codec.CallTool, "a")
	if s := w.m.Stats(); s.Waiting != 1 || s.Announced != 0 {
		t.Fatalf("stats %+v, want one ask waiting", s)
	}
	l := &fakeLine{}
	cl.Attach(l)
	w.frames(l, "call-tool a", "notifications ")
	if l.sent() != 0 {
		t.Fatal("Attach flushed: what it announces is to go out with the 101")
	}
}

func TestR7_LostAsksAreAskedAgainInOriginalOrderBeforeNewerOnes(t *testing.T) {
	w := begin(t, reaskAfter(Never))
	cl, l := w.connect()
	w.ask(codec.CallTool, "a")
	w.ask(codec.ListTools, "b")
	w.ask(codec.CallTool, "c")
	lost := slices.Clone(w.frames(l, "call-tool a", "notifications ", "list-tools b", "call-tool c"))
	w.open(lost[2]).Broke() // dead, older than c, which is lost
	cl.Detach()
	w.ask(codec.ReadResource, "d")

	_, l = w.connect()
	again := w.frames(l, "notifications ", "call-tool a", "list-tools b", "call-tool c", "read-resource d")
	for _, f := range lost {
		w.unknown(f)
		for _, g := range again {
			if f.channel == g.channel {
				t.Fatalf("channel %d was used again", f.channel)
			}
		}
	}
	s := w.m.Stats()
	if s.Reasked[ReasonLost] != 3 || s.Reasked[ReasonBroke] != 1 {
		t.Fatalf("asked again %v, want 3 lost and 1 broke", s.Reasked)
	}
}

func TestR7_AskLostOverAndOverKeepsItsPlace(t *testing.T) {
	w := begin(t)
	w.ask(codec.CallTool, "a")
	w.ask(codec.CallTool, "b")
	for i := range 5 {
		cl, l := w.connect()
		if i == 0 {
			w.frames(l, "call-tool a", "notifications ", "call-tool b")
		} else {
			w.frames(l, "notifications ", "call-tool a", "call-tool b")
		}
		cl.Detach()
	}
}

func TestR7_LostAskWhoseCallerLeftIsNotAskedAgain(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	left, cancelled := w.ask(codec.CallTool, "left"), w.ask(codec.CallTool, "cancelled")
	w.ask(codec.CallTool, "there")
	left.Leave()
	cancelled.Cancel()
	lost := l.all()
	cl.Detach()
	_, l = w.connect()
	w.frames(l, "notifications ", "call-tool there")
	w.unknown(lost[0])
	w.unknown(lost[2])
}

func TestR7_AnAskIsNotAskedAgainForACallerWhoseDepartureNobodyNoticed(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	lost, broken := w.ask(codec.CallTool, "lost"), w.ask(codec.CallTool, "broken")
	there := w.ask(codec.CallTool, "there")
	w.open(l.all()[2]).Broke()
	w.open(l.all()[3]).Broke()
	lost.caller.gone, broken.caller.gone = true, true
	for _, timer := range w.clock.timers {
		timer.fire()
	}
	w.frames(l, "call-tool lost", "notifications ", "call-tool broken", "call-tool there", "call-tool there")
	cl.Detach()
	waiting := w.ask(codec.CallTool, "waiting")
	waiting.caller.gone = true
	_, l = w.connect()
	w.frames(l, "notifications ", "call-tool there")
	for _, e := range []exchange{lost, broken, waiting} {
		w.unsettled(e)
		if !e.Leave() {
			t.Error("Leave of an ask that was abandoned: false, but Settle was never called")
		}
	}
	w.unsettled(there)
	if s := w.m.Stats(); s.Settled[codec.CallTool][Left] != 3 || s.Waiting != 0 || s.Announced != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestR8_AskWhosePathIsOpenLivesOnWhenRequestsEnds(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	p := w.open(l.all()[0])
	cl.Detach()
	_, l = w.connect()
	w.frames(l, "notifications ")
	p.Arrived()
	p.Closed(resultFor(codec.CallTool, "a"))
	w.settled(e, Answered)
}

func TestR9_AskMadeWhileNoConnectionIsOpenWaitsForTheNext(t *testing.T) {
	w := begin(t)
	e := w.ask(codec.CallTool, "a")
	w.unsettled(e)
	if s := w.m.Stats(); s.Waiting != 1 {
		t.Fatalf("%d asks wait, want 1", s.Waiting)
	}
	if len(w.clock.timers) != 0 {
		t.Fatal("a waiting ask has a timer; the protocol has no time-out")
	}
	_, l := w.connect()
	w.answer(w.frames(l, "call-tool a", "notifications ")[0])
	w.settled(e, Answered)
}

func TestR10_NothingIsAskedAgainAfterItWasAnsweredOrNotServed(t *testing.T) {
	w := begin(t)
	cl, l := w.connect()
	answered, unserved := w.ask(codec.CallTool, "a"), w.ask(codec.CallTool, "b")
	w.answer(l.all()[0])
	w.open(l.all()[2]).Closed(nil)
	cl.Detach()
	_, l = w.connect()
	w.frames(l, "notifications ")
	w.settled(answered, Answered)
	w.settled(unserved, NotServed)
}

func TestG3_ContainerIDs(t *testing.T) {
	long := string(make([]byte, 0, 129))
	for range 128 {
		long += "x"
	}
	for _, id := range []string{"a", "A9._-", "_", "-", long} {
		if !ValidID([]byte(id)) {
			t.Errorf("%q is refused", id)
		}
	}
	for _, id := range []string{"", ".a", ".", "..", "a/b", "a b", "a%2f", "é", "a\x00", long + "x"} {
		if ValidID([]byte(id)) {
			t.Errorf("%q is accepted", id)
		}
	}
}

func TestG4_OneContainerNeitherSeesNorSlowsAnother(t *testing.T) {
	w := begin(t)
	other := there(w.m.Container("other"))
	cl, err := w.m.Claim("other")
	if err != nil {
		t.Fatalf("the other container's claim: %v", err)
	}
	theirs := &fakeLine{}
	cl.Attach(theirs)

	other.mu.Lock() // whatever the other one does
	defer other.mu.Unlock()
	_, l := w.connect()
	e := w.ask(codec.CallTool, "a")
	if _, err := w.m.Open("other", codec.CallTool, l.all()[0].channel, &fakeSocket{}); err != ErrUnknownChannel {
		t.Fatalf("the channel of one container opened on another: %v", err)
	}
	w.answer(l.all()[0])
	w.settled(e, Answered)
	if len(theirs.all()) != 0 {
		t.Fatalf("the other container heard %v", theirs.all())
	}
}

func TestG5_ContainerBeginsOnceAndIsTheSameForAll(t *testing.T) {
	got := make([]*Container, 16)
	sinks, asking := 0, atomic.Int32{}
	m := newMux(Config{NewSink: func(string) Sink {
		for int(asking.Load()) < len(got) { // the others find no container, too
			runtime.Gosched()
		}
		sinks++
		return &fakeSink{}
	}}, 64, 64)
	if m.Lookup("a") != nil {
		t.Fatal("Lookup began a container")
	}
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			asking.Add(1)
			got[i] = there(m.Container("a"))
		})
	}
	all.Wait()
	for _, c := range got {
		if c != m.Lookup("a") {
			t.Fatal("two containers of one id")
		}
	}
	if sinks != 1 || m.Stats().Containers != 1 {
		t.Fatalf("%d sinks and %d containers, want one of each", sinks, m.Stats().Containers)
	}
	if c := m.Lookup("a"); c.ID() != "a" || c.Sink() == nil {
		t.Fatalf("id %q, sink %v", c.ID(), c.Sink())
	}
}
