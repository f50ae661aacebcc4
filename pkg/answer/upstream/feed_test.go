package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/answer"
)

// lone is a container of its own. Its server is never asked.
func lone(t *testing.T) *seat {
	return open(t, Config{URL: "http://127.0.0.1:1/mcp"}).seat
}

// blocked is a send that takes nothing until it is let through.
func blocked(took chan<- string) (send func([]byte) error, through chan struct{}) {
	through = make(chan struct{})
	return func(n []byte) error {
		<-through
		took <- string(n)
		return nil
	}, through
}

func (s *seat) dropped() uint64 { return s.keeper.Stats().Dropped }

func TestAPathThatDoesNotDrainLosesTheOldestAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const over = 10
		s := lone(t)
		took := make(chan string, 2*feedMessages)
		send, through := blocked(took)
		f := &s.keeper.feed
		p := f.open(s, send)
		f.publish([]byte("first")) // it is being sent
		synctest.Wait()
		for i := range feedMessages - 1 + over {
			f.publish(fmt.Appendf(nil, "%d", i))
		}
		if got := s.dropped(); got != over {
			t.Errorf("%d counted as dropped, want %d", got, over)
		}
		close(through)
		synctest.Wait()
		if len(took) != feedMessages {
			t.Fatalf("%d came through, want %d", len(took), feedMessages)
		}
		<-took
		for i := range feedMessages - 1 {
			if got := <-took; got != fmt.Sprint(i+over) {
				t.Fatalf("%s came, want %d", got, i+over)
			}
		}
		f.close(p)
		f.publish([]byte("late"))
		if got := s.keeper.Stats(); got.Unheard != 1 || got.Paths != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestAPathIsBoundedInBytesAndTakesLargeNotificationsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lone(t)
		took := make(chan string, 100)
		send, through := blocked(took)
		f := &s.keeper.feed
		p := f.open(s, send)
		defer f.close(p)
		large := func(c string) string { return strings.Repeat(c, feedBytes/2-headerSize) }
		for _, c := range []string{"1", "2", "3", "4"} {
			f.publish([]byte(large(c)))
			synctest.Wait()
			if got := s.keeper.counters.paths.QueuedBytes.Load(); got > feedBytes {
				t.Errorf("%d bytes wait, the bound is %d", got, feedBytes)
			}
		}
		close(through)
		synctest.Wait()
		for _, c := range []string{"1", "4"} {
			if got := <-took; got != large(c) {
				t.Errorf("came %d of %.1s, want %s whole", len(got), got, c)
			}
		}
		if got := s.dropped(); got != 2 {
			t.Errorf("%d counted as dropped, want 2", got)
		}
		f.publish(make([]byte, feedBytes-headerSize+1))
		start := time.Now()
		f.flushed(t.Context(), s)
		if time.Since(start) != 0 {
			t.Error("an answer waited for a notification that is too big")
		}
		f.publish(make([]byte, feedBytes-headerSize))
		synctest.Wait()
		if got := len(<-took); got != feedBytes-headerSize || s.dropped() != 3 {
			t.Errorf("came %d bytes, %d dropped", got, s.dropped())
		}
	})
}

func TestDropsAreLoggedOncePerBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &journal{}
		s := openShared(t, nil, Config{Logger: log.logger()}).For("slow").(*seat)
		f := &s.keeper.feed
		through := make(chan struct{})
		p := f.open(s, func([]byte) error { <-through; return nil })
		burst := func(n int) {
			for range n {
				f.publish([]byte("{}"))
				synctest.Wait()
			}
		}
		for i := range 2 {
			burst(feedMessages + 5)
			through <- struct{}{} // it moves a little, and falls behind again
			burst(6)
			for range feedMessages {
				through <- struct{}{}
			}
			synctest.Wait()
			if got := strings.Count(log.String(), "container=slow dropped=10"); got != i+1 {
				t.Fatalf("logged %d times after %d bursts:\n%s", got, i+1, log)
			}
		}
		burst(3)
		close(through)
		f.close(p)
	})
}

func TestAnAnswerWaitsForTheNotificationsBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lone(t)
		f := &s.keeper.feed
		f.flushed(t.Context(), s)
		p := f.open(s, func([]byte) error { <-time.After(100 * time.Millisecond); return nil })
		defer f.close(p)
		for i, give := range []func(){
			func() { f.publish([]byte("1")) },
			func() { f.tell(s, []byte("1")) },
			func() { f.publish([]byte("1")); f.tell(s, []byte("2")) },
		} {
			give()
			start := time.Now()
			f.flushed(t.Context(), s)
			if got, want := time.Since(start), max(1, time.Duration(i))*100*time.Millisecond; got != want {
				t.Errorf("%d: the answer waited %v, want %v", i, got, want)
			}
		}
		start := time.Now()
		f.flushed(t.Context(), s)
		if time.Since(start) != 0 {
			t.Error("the answer waited, but nothing was queued")
		}
	})
}

func TestAnAnswerDoesNotWaitLongForAPathThatDoesNotDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lone(t)
		f := &s.keeper.feed
		stuck := make(chan struct{})
		p := f.open(s, func([]byte) error { <-stuck; return answer.ErrPathEnded })
		f.publish([]byte("1"))
		start := time.Now()
		f.flushed(t.Context(), s)
		if got := time.Since(start); got != orderTimeout {
			t.Errorf("the answer waited %v, want %v", got, orderTimeout)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		f.flushed(ctx, s)
		if got := time.Since(start); got != orderTimeout+time.Millisecond {
			t.Errorf("the answer waited %v for nobody", got-orderTimeout)
		}
		closed, flushed := make(chan struct{}), make(chan struct{})
		start = time.Now()
		go func() { f.flushed(t.Context(), s); close(flushed) }()
		synctest.Wait()
		go func() { f.close(p); close(closed) }()
		<-flushed
		if time.Since(start) != 0 {
			t.Error("the answer waited for a path that is closed")
		}
		select {
		case <-closed:
			t.Error("the path is closed while its send runs")
		default:
		}
		close(stuck)
		<-closed
	})
}

func TestAnEndedPathEndsItsNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openShared(t, newMemory(), Config{}).For("c").(*seat)
		done := make(chan error, 1)
		var sent atomic.Int32
		go func() {
			done <- s.Notifications(t.Context(), func([]byte) error { sent.Add(1); return answer.ErrPathEnded })
		}()
		synctest.Wait()
		s.keeper.feed.publish([]byte("1"))
		s.keeper.feed.publish([]byte("2"))
		if err := <-done; err != nil || sent.Load() != 1 {
			t.Errorf("Notifications returned %v after %d", err, sent.Load())
		}
	})
}

func TestAPathHearsFromItsOpeningToItsClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &journal{}
		s := open(t, Config{URL: "http://127.0.0.1:1/mcp", Logger: log.logger()}).seat
		f := &s.keeper.feed
		var heard []string
		send := func(n []byte) error { heard = append(heard, string(n)); return nil }
		early := f.open(s, func([]byte) error { return nil })
		for i := range 3 {
			f.publish(fmt.Append(nil, i))
			f.tell(s, fmt.Append(nil, i))
		}
		late := f.open(s, send)
		if late.behind(cursor{3, 3}) != nil {
			t.Error("an answer would wait for what was before the path")
		}
		f.publish([]byte("all"))
		f.tell(s, []byte("one"))
		f.flushed(t.Context(), s)
		f.close(late)
		f.publish([]byte("late"))
		if _, err := late.Write(newFrame(toAll, 5, []byte("late"))); !errors.Is(err, answer.ErrPathEnded) {
			t.Errorf("a write after the end: %v", err)
		}
		synctest.Wait()
		f.close(early)
		if got := fmt.Sprint(heard); got != "[all one]" {
			t.Errorf("heard %s", got)
		}
		if log.String() != "" {
			t.Errorf("logged:\n%s", log)
		}
	})
}

func TestASendThatFailsOrPanicsCostsOneNotificationOrOnePath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lone(t)
		f := &s.keeper.feed
		var sent []string
		p := f.open(s, func(n []byte) error {
			switch sent = append(sent, string(n)); string(n) {
			case "1":
				return errors.New("not this one")
			case "3":
				panic("send")
			}
			return nil
		})
		for i := range 5 {
			f.publish(fmt.Append(nil, i))
			synctest.Wait()
		}
		<-p.ended
		f.close(p)
		if got := fmt.Sprint(sent); got != "[0 1 2 3]" {
			t.Errorf("sent %s", got)
		}
	})
}
