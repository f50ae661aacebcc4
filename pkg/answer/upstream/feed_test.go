package upstream

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/answer"
)

func newFeed() *feed { return &feed{counters: &counters{}} }

func TestAPathThatDoesNotDrainLosesTheOldestAndHoldsNobodyUp(t *testing.T) {
	f := newFeed()
	l := f.open()
	for i := range feedMessages + 10 {
		f.publish(fmt.Appendf(nil, "%d", i))
	}
	first, _ := l.take()
	if string(first) != "10" {
		t.Errorf("the oldest that is left is %s, want 10", first)
	}
	large := make([]byte, feedBytes/2)
	for range 3 {
		f.publish(large)
	}
	if l.bytes > feedBytes {
		t.Errorf("%d bytes wait, the bound is %d", l.bytes, feedBytes)
	}
	if got := f.counters.dropped.Load(); got < 11 {
		t.Errorf("%d counted as dropped", got)
	}
	f.close(l)
	f.publish(large)
	if got := f.counters.unheard.Load(); got != 1 {
		t.Errorf("%d counted as unheard, want 1", got)
	}
}

func TestAnAnswerWaitsForTheNotificationsBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		l := f.open()
		var none mark
		none.wait(t.Context())
		f.publish([]byte("1"))
		before := f.mark()
		waited := make(chan time.Duration, 1)
		start := time.Now()
		go func() { before.wait(t.Context()); waited <- time.Since(start) }()
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() {
			ran <- l.run(ctx, func([]byte) error { <-time.After(100 * time.Millisecond); return nil })
		}()
		if got := <-waited; got != 100*time.Millisecond {
			t.Errorf("the answer waited %v, want 100ms", got)
		}
		if m := f.mark(); m != nil {
			t.Errorf("%d paths to wait for, but nothing is queued", len(m))
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

func TestAnAnswerDoesNotWaitLongForAPathThatDoesNotDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		l := f.open()
		f.publish([]byte("1"))
		start := time.Now()
		f.mark().wait(t.Context())
		if got := time.Since(start); got != orderTimeout {
			t.Errorf("the answer waited %v, want %v", got, orderTimeout)
		}
		before := f.mark()
		done := make(chan struct{})
		go func() { before.wait(t.Context()); close(done) }()
		synctest.Wait()
		f.close(l)
		start = time.Now()
		<-done
		if time.Since(start) != 0 {
			t.Error("the answer waited for a path that is closed")
		}
	})
}

func TestAnEndedPathEndsItsFeed(t *testing.T) {
	f := newFeed()
	l := f.open()
	f.publish([]byte("1"))
	err := l.run(t.Context(), func([]byte) error { return answer.ErrPathEnded })
	if !errors.Is(err, answer.ErrPathEnded) {
		t.Fatal(err)
	}
}
