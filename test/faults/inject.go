package main

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// mostAtOnce is how many calls a round of a lane has.
const mostAtOnce = 6

// inject goes through the kinds of faults.
func (t *trial) inject() {
	chosen := kindsNamed(t.only)
	shares := 0
	for _, k := range chosen {
		shares += k.share
	}
	for number, k := range chosen {
		if t.ctx.Err() != nil || time.Since(t.began) > t.duration {
			return
		}
		began, before := time.Now(), t.reasked()
		w := walkOf(k)
		switch {
		case w != nil:
			w.run(t, w)
		case k.global != nil:
			t.episodes(k, number, t.exchanges*k.share/shares)
		default:
			t.rounds(k, number, t.exchanges*k.share/shares)
		}
		after := t.reasked()
		if after >= before { // else the gateway is another
			after -= before
		}
		t.table.close(k, after, time.Since(began))
		t.table.printRow(k, t.out)
	}
}

// those are the lanes that a kind is for.
func (t *trial) those(k *kind) []*lane {
	return slices.DeleteFunc(slices.Clone(t.lanes), func(l *lane) bool { return k.answers && !l.answers() })
}

// rounds has every lane make its part of so many exchanges, round after round.
func (t *trial) rounds(k *kind, number, exchanges int) {
	var running sync.WaitGroup
	lanes := t.those(k)
	for i, l := range lanes {
		quota := exchanges / len(lanes)
		if i < exchanges%len(lanes) {
			quota++
		}
		running.Go(func() {
			r := t.chance(number, i)
			for quota > 0 && t.ctx.Err() == nil && time.Since(t.began) < t.duration {
				n := min(quota, 1+r.IntN(mostAtOnce))
				quota -= n
				l.round(t.ctx, k, l.plan(k, r, n))
			}
		})
	}
	running.Wait()
}

// episodes has all lanes make calls while something happens to what they share, again and again.
func (t *trial) episodes(k *kind, number, exchanges int) {
	lanes := t.those(k)
	chances := make([]*rand.Rand, len(lanes))
	for i := range lanes {
		chances[i] = t.chance(number, i)
	}
	all := t.chance(number, len(lanes))
	for made := 0; made < exchanges && t.ctx.Err() == nil && time.Since(t.began) < t.duration; {
		var running sync.WaitGroup
		for i, l := range lanes {
			n := min(exchanges-made, 1+chances[i].IntN(mostAtOnce))
			made += n
			p := l.plan(k, chances[i], n)
			running.Go(func() { l.round(t.ctx, k, p) })
		}
		k.global(t, all)
		running.Wait()
	}
}

// chance is the chance of one lane in one kind of fault. It follows from the seed.
func (t *trial) chance(number, lane int) *rand.Rand {
	return rand.New(rand.NewPCG(t.seed, uint64(number)<<32|uint64(lane)))
}
