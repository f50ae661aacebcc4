package keepalive

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const period = 30 * time.Second

type beats struct {
	Entry
	mu   sync.Mutex
	at   []time.Time
	then func()
}

func (b *beats) Beat(now time.Time) {
	b.mu.Lock()
	b.at = append(b.at, now)
	b.mu.Unlock()
	if b.then != nil {
		b.then()
	}
}

func (b *beats) times() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]time.Time(nil), b.at...)
}

func newBeats(then func()) *beats {
	b := &beats{then: then}
	b.Beater = b
	return b
}

// running runs f in a bubble with a started ring.
func running(t *testing.T, f func(t *testing.T, r *Ring)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(period)
		r.Start()
		defer r.Close()
		f(t, r)
	})
}

// pass lets d go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestW4_EveryEntryIsBeatenOncePerPeriod(t *testing.T) {
	running(t, func(t *testing.T, r *Ring) {
		var entries []*beats
		for range 3 * slots {
			b := newBeats(nil)
			entries = append(entries, b)
			r.Add(&b.Entry)
		}
		pass(4 * period)
		for i, b := range entries {
			at := b.times()
			if len(at) != 4 {
				t.Fatalf("entry %d was beaten %d times in 4 periods", i, len(at))
			}
			for j := 1; j < len(at); j++ {
				if gap := at[j].Sub(at[j-1]); gap < period-period/slots || gap > period+period/slots {
					t.Fatalf("entry %d: %v between two beats", i, gap)
				}
			}
		}
	})
}

func TestEntriesAddedAtOnceAreSpreadOverThePeriod(t *testing.T) {
	running(t, func(t *testing.T, r *Ring) {
		const perSlot = 10
		var entries []*beats
		for range perSlot * slots {
			b := newBeats(nil)
			entries = append(entries, b)
			r.Add(&b.Entry)
		}
		pass(period)
		together := map[time.Time]int{}
		for _, b := range entries {
			for _, at := range b.times() {
				together[at]++
			}
		}
		if len(together) != slots {
			t.Fatalf("beats at %d instants, want %d", len(together), slots)
		}
		for at, n := range together {
			if n != perSlot {
				t.Errorf("%d beats at %v, want %d", n, at, perSlot)
			}
		}
	})
}

func TestAfterRemoveNoBeatBegins(t *testing.T) {
	running(t, func(t *testing.T, r *Ring) {
		var entries []*beats
		for range 2 * slots {
			b := newBeats(nil)
			entries = append(entries, b)
			r.Add(&b.Entry)
		}
		pass(period)
		for _, b := range entries[:slots] {
			r.Remove(&b.Entry)
			r.Remove(&b.Entry)
		}
		if r.Len() != slots {
			t.Errorf("%d entries left, want %d", r.Len(), slots)
		}
		pass(2 * period)
		for i, b := range entries {
			want := 3
			if i < slots {
				want = 1
			}
			if got := len(b.times()); got != want {
				t.Fatalf("entry %d was beaten %d times, want %d", i, got, want)
			}
		}
	})
}

func TestABeatMayRemoveItselfAndItsNeighbour(t *testing.T) {
	running(t, func(t *testing.T, r *Ring) {
		var first, neighbour *beats
		neighbour = newBeats(nil)
		first = newBeats(func() {
			r.Remove(&first.Entry)
			r.Remove(&neighbour.Entry)
		})
		// Same slot, first before neighbour.
		r.Add(&first.Entry)
		for range slots - 1 {
			r.Add(&newBeats(nil).Entry)
		}
		r.Add(&neighbour.Entry)
		pass(3 * period)
		if n := len(first.times()); n != 1 {
			t.Errorf("beaten %d times after it removed itself", n)
		}
		if n := len(neighbour.times()); n != 0 {
			t.Errorf("the neighbour was beaten %d times after it was removed", n)
		}
		if r.Len() != slots-1 {
			t.Errorf("%d entries left, want %d", r.Len(), slots-1)
		}
	})
}

func TestRemoveDoesNotWaitForARunningBeat(t *testing.T) {
	running(t, func(t *testing.T, r *Ring) {
		inside, leave := make(chan struct{}), make(chan struct{})
		b := newBeats(func() { close(inside); <-leave })
		r.Add(&b.Entry)
		<-inside
		r.Remove(&b.Entry)
		close(leave)
		pass(2 * period)
		if n := len(b.times()); n != 1 {
			t.Errorf("beaten %d times", n)
		}
	})
}

func TestAPanicInABeatCostsTheOthersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(period)
		var value any
		var stack []byte
		r.Panicked = func(v any, s []byte) { value, stack = v, s }
		r.Start()
		bad := newBeats(func() { panic("bad beat") })
		good := newBeats(nil)
		r.Add(&bad.Entry)
		r.Add(&good.Entry)
		pass(3 * period)
		r.Close()
		if value != "bad beat" || len(stack) == 0 {
			t.Errorf("told of %v with a stack of %d bytes", value, len(stack))
		}
		if len(bad.times()) != 1 || len(good.times()) != 3 || r.Len() != 1 {
			t.Errorf("bad beat %d times, good %d times, %d left", len(bad.times()), len(good.times()), r.Len())
		}
	})
}

func TestCloseEndsBeatingAndKeepsTheRingUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(period)
		inside, leave := make(chan struct{}), make(chan struct{})
		b := newBeats(func() { close(inside); <-leave })
		r.Add(&b.Entry)
		for range slots {
			r.Add(&newBeats(nil).Entry)
		}
		r.Start()
		r.Start()
		<-inside
		closed := make(chan struct{})
		go func() { defer close(closed); r.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close returned while a Beat was running")
		default:
		}
		close(leave)
		<-closed
		r.Close()
		r.Start()
		pass(3 * period)
		if n := len(b.times()); n != 1 {
			t.Errorf("beaten %d times", n)
		}
		if r.Len() != slots+1 {
			t.Errorf("%d entries, want %d", r.Len(), slots+1)
		}
		r.Remove(&b.Entry)
		NewRing(period).Close()
	})
}

func TestMisuseIsLoud(t *testing.T) {
	panics := func(name string, f func()) {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
	panics("a period of zero", func() { NewRing(0) })
	panics("an entry added twice", func() {
		r, b := NewRing(period), newBeats(nil)
		r.Add(&b.Entry)
		r.Add(&b.Entry)
	})
}

func TestAddAndRemoveRaceWithBeats(t *testing.T) {
	r := NewRing(slots * time.Microsecond)
	r.Start()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				met := make(chan struct{}, 1)
				b := newBeats(func() {
					select {
					case met <- struct{}{}:
					default:
					}
				})
				r.Add(&b.Entry)
				<-met
				r.Remove(&b.Entry)
			}
		})
	}
	wg.Wait()
	if r.Len() != 0 {
		t.Errorf("%d entries left", r.Len())
	}
	r.Close()
}
