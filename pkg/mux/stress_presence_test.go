package mux

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// The stress test of coming and going: containers are forgotten the moment that
// they have nothing, while requests arrive, servers connect and followers begin
// and end. Run it with -race.

const presenceAsks = 400

func TestG5_ARequestThatArrivesWhileItsContainerIsForgottenIsServed(t *testing.T) {
	sinks := &sinkLedger{t: t, alive: map[string]int{}}
	m := newMux(Config{NewSink: sinks.begin, Idle: 1}, 64, 64)
	done := make(chan struct{})
	var callers, others sync.WaitGroup
	for i := range stressContainers {
		served, alone := fmt.Sprint("served", i), fmt.Sprint("alone", i)
		others.Go(func() { (&stressServer{m: m, id: served}).run(done) })
		others.Go(func() { until(done, func() { connectForAMoment(m, alone) }) })
		for caller := range stressCallers / 2 {
			callers.Go(func() { runEnteringCaller(t, m, served, caller, false) })
			callers.Go(func() { runEnteringCaller(t, m, alone, caller, true) })
		}
	}
	for range 2 {
		others.Go(func() { until(done, m.Sweep) })
	}
	for range 3 {
		others.Go(func() { until(done, func() { followForAWhile(t, m) }) })
	}
	whole := newCheckingFollower(t)
	m.Follow(whole)
	callers.Wait()
	close(done)
	others.Wait()

	runtime.Gosched()
	m.Sweep()
	s := m.Stats()
	if s.Containers != 0 || s.Present != 0 || s.Waiting+s.Announced+s.Open != 0 || s.Resident != (ResidentStats{}) || s.Illegal != 0 {
		t.Errorf("left behind: %+v", s)
	}
	if n := m.channels.rows.Size(); n != 0 {
		t.Errorf("%d channels are left in the table", n)
	}
	if n := len(whole.present); n != 0 {
		t.Errorf("the follower takes %d containers to be present", n)
	}
	if sinks.begun < 100 {
		t.Errorf("only %d containers began: nothing was put to the test", sinks.begun)
	}
	t.Logf("%d containers began and were forgotten; %d changes were told", sinks.begun, whole.changes)
}

func until(done <-chan struct{}, do func()) {
	for {
		select {
		case <-done:
			return
		default:
			do()
			runtime.Gosched()
		}
	}
}

func connectForAMoment(m *Mux, id string) {
	cl, err := m.Claim(id)
	if err != nil {
		panic(err)
	}
	cl.Attach(&stressLine{more: make(chan struct{}, 1)})
	cl.Detach()
	for range rand.IntN(50) {
		runtime.Gosched()
	}
}

// runEnteringCaller makes asks. Where no server answers, it leaves them behind.
func runEnteringCaller(t *testing.T, m *Mux, id string, number int, alone bool) {
	for i := range presenceAsks {
		c := there(m.Enter(id))
		if m.Lookup(id) != c {
			t.Errorf("%s was forgotten while it was entered", id)
		}
		caller := &stressCaller{t: t, payload: fmt.Sprint(id, "-", number, "-", i), settled: make(chan struct{})}
		a := taken(c.Ask(answerKinds[rand.IntN(len(answerKinds))], []byte(caller.payload), caller))
		if !alone && rand.IntN(4) > 0 || !a.Leave() {
			<-caller.settled
		}
		c.Exit()
		if alone && rand.IntN(2) == 0 {
			runtime.Gosched()
		}
	}
}

// sinkLedger holds that of one id there is one sink at a time.
type sinkLedger struct {
	t     *testing.T
	mu    sync.Mutex
	alive map[string]int
	begun int
}

type ledgerSink struct {
	ledger *sinkLedger
	id     string
	over   atomic.Bool
}

func (l *sinkLedger) begin(id string) Sink {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun++
	if l.alive[id]++; l.alive[id] != 1 {
		l.t.Errorf("%d sinks of %s at once", l.alive[id], id)
	}
	return &ledgerSink{ledger: l, id: id}
}

func (s *ledgerSink) Forgotten() {
	s.over.Store(true)
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.ledger.alive[s.id]--
}

func (s *ledgerSink) Notify(codec.Notification) {
	if s.over.Load() {
		s.ledger.t.Errorf("%s was notified after it was forgotten", s.id)
	}
}

// checkingFollower holds that nothing is missed or told twice.
type checkingFollower struct {
	t       *testing.T
	present map[string]bool
	changes int
}

func newCheckingFollower(t *testing.T) *checkingFollower {
	return &checkingFollower{t: t, present: map[string]bool{}}
}

func (f *checkingFollower) Snapshot(ids []string) {
	for _, id := range ids {
		if f.present[id] {
			f.t.Errorf("%s is in the snapshot twice", id)
		}
		f.present[id] = true
	}
}

func (f *checkingFollower) Came(id string) {
	f.changes++
	if f.present[id] {
		f.t.Errorf("%s came, and was there", id)
	}
	f.present[id] = true
}

func (f *checkingFollower) Went(id string) {
	f.changes++
	if !f.present[id] {
		f.t.Errorf("%s went, and was not there", id)
	}
	delete(f.present, id)
}

func followForAWhile(t *testing.T, m *Mux) {
	f := newCheckingFollower(t)
	stop := m.Follow(f)
	for range rand.IntN(50) {
		runtime.Gosched()
	}
	stop()
	// Nothing is told any more: this would be a race otherwise.
	f.changes = -1
}
