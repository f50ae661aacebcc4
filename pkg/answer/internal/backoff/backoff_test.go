package backoff

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWaitsDoubleUpToTheCap(t *testing.T) {
	b := Backoff{Jitter: func() float64 { return 0.5 }}
	want := []time.Duration{50, 100, 200, 400, 800, 1600, 2500, 2500, 2500}
	for i, w := range want {
		if got := b.Next(); got != w*time.Millisecond {
			t.Fatalf("wait %d is %v, want %v", i, got, w*time.Millisecond)
		}
	}
	b.Reset()
	if got := b.Next(); got != 50*time.Millisecond {
		t.Fatalf("the wait after a reset is %v, want 50ms", got)
	}
}

func TestJitterIsFull(t *testing.T) {
	b := Backoff{Base: time.Second, Cap: time.Second}
	var low, high bool
	for range 1000 {
		d := b.Next()
		if d < 0 || d >= time.Second {
			t.Fatalf("the wait %v is outside [0, 1s)", d)
		}
		low = low || d < 250*time.Millisecond
		high = high || d > 750*time.Millisecond
	}
	if !low || !high {
		t.Fatalf("1000 waits did not reach both ends (low %v, high %v)", low, high)
	}
}

func TestManyAttemptsDoNotOverflow(t *testing.T) {
	b := Backoff{Jitter: func() float64 { return 0.999 }}
	for range 10_000 {
		if d := b.Next(); d < 0 || d > DefaultCap {
			t.Fatalf("the wait is %v", d)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if !Wait(t.Context(), time.Minute) || time.Since(start) != time.Minute {
			t.Fatal("an undisturbed wait did not last its minute")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if Wait(ctx, time.Minute) || time.Since(start) != time.Second {
			t.Fatal("the wait did not end with its context")
		}
	})
}

// Many goroutines of one synctest bubble that wait for nothing must not meet in the bubble's timers (see Wait): under the race
// detector this crashes within a few rounds if they do.
func TestAWaitOfNothingTakesNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() {
				for range 200 {
					if !Wait(t.Context(), 0) {
						t.Error("a wait of nothing, with a context that lives, was cut short")
					}
				}
			})
		}
		group.Wait()
	})
	ended, end := context.WithCancel(t.Context())
	end()
	if Wait(ended, 0) {
		t.Error("a wait of nothing outlived its context")
	}
}
