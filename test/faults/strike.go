package main

import (
	"math/rand/v2"
	"sync"
	"time"
)

// strike is what happens to a gateway answer in a round.
type strike struct {
	moment time.Duration // after what it waits for
	away   time.Duration // between the kill and the next life
	pages  []*page       // of the round's calls
}

// before is for what has to be done before the calls are made.
func (s *strike) before(l *lane, k *kind) {
	if k.name == "provider killed before" {
		l.killAnswer()
	}
}

// killBefore has the calls made while nobody is there to answer.
func killBefore(l *lane, s *strike) {
	s.release()
	s.revive(l)
}

// killWhile kills while the tool runs.
func killWhile(l *lane, s *strike) {
	s.await(l)
	rest(l.ctx, s.moment)
	l.killAnswer()
	s.release()
	s.revive(l)
}

// killAfter kills about when the tool has answered: before, within or after the answer's message and its Close.
func killAfter(l *lane, s *strike) {
	s.await(l)
	s.release()
	rest(l.ctx, s.moment)
	l.killAnswer()
	s.revive(l)
}

func (s *strike) release() {
	for _, p := range s.pages {
		p.release()
	}
}

// await waits until the first call is carried out.
func (s *strike) await(l *lane) {
	timer := time.NewTimer(hang)
	defer timer.Stop()
	select {
	case <-s.pages[0].started:
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

func (s *strike) revive(l *lane) {
	rest(l.ctx, s.away)
	if err := l.startAnswer(); err != nil {
		l.fault("%v", err)
	}
}

// The faults that all lanes share. Each is one episode: it happens while the lanes make calls, after so many milliseconds at
// most, and whoever it takes comes back after so many, which takes a while.
const (
	mostUntil = 100
	mostAway  = 200
	mostBack  = 500
)

func (t *trial) restartUpstream(r *rand.Rand) {
	rest(t.ctx, between(r, 0, mostUntil))
	if err := t.upstream.stop(); err != nil {
		t.fault("%v", err)
	}
	rest(t.ctx, between(r, 0, mostAway))
	if err := t.upstream.start(); err != nil {
		t.fault("%v", err)
	}
}

func (t *trial) killGateway(r *rand.Rand) {
	rest(t.ctx, between(r, 0, mostUntil))
	t.gateway.Kill()
	rest(t.ctx, between(r, 0, mostAway))
	t.again()
}

func (t *trial) terminateGateway(r *rand.Rand) {
	rest(t.ctx, between(r, 0, mostUntil))
	if err := t.gateway.Stop(endWithin); err != nil {
		t.fault("%v", err)
	}
	rest(t.ctx, between(r, 0, mostAway))
	t.again()
}

func (t *trial) killAll(r *rand.Rand) {
	rest(t.ctx, between(r, 0, mostUntil))
	away := between(r, 0, mostAway)
	t.gateway.Kill()
	var all sync.WaitGroup
	for _, l := range t.lanes {
		if l.answers() {
			all.Go(l.killAnswer)
		}
	}
	all.Wait()
	rest(t.ctx, away)
	t.again()
	for _, l := range t.lanes {
		if l.answers() {
			all.Go(func() {
				if err := l.startAnswer(); err != nil {
					t.fault("%v", err)
				}
			})
		}
	}
	all.Wait()
}

// again starts the gateway once more.
func (t *trial) again() {
	if err := t.startGateway(); err != nil {
		t.fault("%v", err)
	}
}
