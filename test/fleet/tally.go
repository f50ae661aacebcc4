package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// tally keeps count of what the clients see.
type tally struct {
	faults *faults

	mu              sync.Mutex
	counts          report
	steady, restart latency
}

// kinds bounds each set of words that is counted.
const kinds = 100

func newTally(f *faults) *tally {
	return &tally{faults: f, counts: report{Failed: make(map[string]int), Gaps: make(map[string]gap)}}
}

// note changes the counts.
func (t *tally) note(f func(*report)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.counts)
}

func (t *tally) answered(took time.Duration, calm bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if calm {
		t.steady.add(took)
	} else {
		t.restart.add(took)
	}
}

func (t *tally) report() report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.counts
	r.Failed, r.Gaps = maps.Clone(r.Failed), maps.Clone(r.Gaps)
	r.Steady, r.Restart = t.steady.quantiles(), t.restart.quantiles()
	r.Faults, r.Words = t.faults.all()
	return r
}

func count(m map[string]int, word string) {
	if _, known := m[word]; !known && len(m) >= kinds {
		word = "more"
	}
	m[word]++
}

// hears judges a notification.
func (t *tally) hears(container string, number uint64, h heard, excused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Notifications++
	switch {
	case h.disorder:
		t.faults.add("%s heard notification %d after %d", container, number, h.after)
	case h.missed == 0:
	case h.fresh:
		t.gap(fmt.Sprintf("after %d, before the first on a new stream", h.after), h.missed)
	case excused:
		t.gap(fmt.Sprintf("after %d, on an open stream around the restart", h.after), h.missed)
	default:
		t.faults.add("%s heard notification %d after %d, on one stream", container, number, h.after)
	}
}

// gap is called with mu held.
func (t *tally) gap(where string, missed uint64) {
	g, known := t.counts.Gaps[where]
	if !known && len(t.counts.Gaps) >= kinds {
		where = "elsewhere"
		g, known = t.counts.Gaps[where]
	}
	if g.Containers++; !known {
		g.Least = missed
	}
	g.Least, g.Most = min(g.Least, missed), max(g.Most, missed)
	t.counts.Gaps[where] = g
}

// kindOf says in a few words what went wrong, the same words for the same thing.
func kindOf(err error) string {
	var errno syscall.Errno
	var status *statusError
	var transport *url.Error
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended"
	case errors.As(err, &status):
		return fmt.Sprintf("status %d", status.status)
	case errors.As(err, &transport):
		return transport.Err.Error()
	}
	return fmt.Sprintf("%.200v", err)
}
