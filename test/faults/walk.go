package main

import (
	"sync"
	"sync/atomic"
)

// walk is a kind that cuts at every byte, from none to all, one exchange for each.
type walk struct {
	kind
	run    func(*trial, *walk)
	stream string
	cut    func(*walker, *walk, int) (total int) // after so many bytes; total is 0 until all have passed
}

// Cuts at every byte of a socket, in the direction that is named. They are exact to the byte, and what must come of each is
// known.
var walks = []*walk{
	{kind: kind{name: "every byte, /requests, to the gateway", repeats: true}, run: walkAll, stream: upstreamward, cut: (*walker).cutRequests},
	{kind: kind{name: "every byte, /requests, from it", repeats: true}, run: walkAll, stream: downstreamward, cut: (*walker).cutRequests},
	{kind: kind{name: "every byte, answer, to the gateway", repeats: true}, run: walkAll, stream: upstreamward, cut: (*walker).cutAnswer},
	{kind: kind{name: "every byte, answer, from it", repeats: true}, run: walkAll, stream: downstreamward, cut: (*walker).cutAnswer},
	{kind: kind{name: "every byte, client, to the gateway", fails: true}, run: walkAll, stream: upstreamward, cut: (*walker).cutClient},
	{kind: kind{name: "every byte, client, from it", fails: true}, run: walkAll, stream: downstreamward, cut: (*walker).cutClient},
	{kind: kind{name: "every byte, gateway answer, to", repeats: true, breaks: true, answers: true}, run: walkAnswers, stream: upstreamward},
	{kind: kind{name: "every byte, gateway answer, from", repeats: true, breaks: true, answers: true}, run: walkAnswers, stream: downstreamward},
}

func walkOf(k *kind) *walk {
	for _, w := range walks {
		if &w.kind == k {
			return w
		}
	}
	return nil
}

// walkers is how many offsets are tried at once.
const walkers = 16

// walkAll tries every offset, until all bytes have passed.
func walkAll(t *trial, w *walk) {
	var next, end atomic.Int64
	end.Store(1 << 20)
	var running sync.WaitGroup
	for i := range walkers {
		running.Go(func() {
			walker, err := t.newWalker(w, i)
			if err != nil {
				t.fault("%v", err)
				return
			}
			defer walker.close()
			for t.ctx.Err() == nil {
				k := (next.Add(1) - 1) * int64(t.stride)
				if k > end.Load() {
					return
				}
				if total := w.cut(walker, w, int(k)); total > 0 && int64(total) <= k {
					end.Store(min(end.Load(), k))
				}
			}
		})
	}
	running.Wait()
}

// What passes in a short exchange of gateway answer, at most.
const (
	answerUp   = 420
	answerDown = 220
)

// walkAnswers cuts everything that a gateway answer opens, or has open, after so many bytes.
func walkAnswers(t *trial, w *walk) {
	total := answerUp
	if w.stream == downstreamward {
		total = answerDown
	}
	var next atomic.Int64
	var running sync.WaitGroup
	for i, l := range t.those(&w.kind) {
		running.Go(func() {
			r := t.chance(len(kinds), i)
			for t.ctx.Err() == nil {
				k := int(next.Add(1)-1) * t.stride
				if k > total {
					return
				}
				p := l.plan(&w.kind, r, 1)
				p.calls[0].after, p.calls[0].arguments.Millis = 0, 0
				p.injections = []injection{{providerSide, poison{Type: "limit_data", Stream: w.stream, Attributes: map[string]any{"bytes": k}}}}
				p.lasts = walkLasts
				l.round(t.ctx, &w.kind, p)
			}
		})
	}
	running.Wait()
}
