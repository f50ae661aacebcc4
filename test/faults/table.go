package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// faultsKept is how many are told in words.
const faultsKept = 30

// row is what came of one kind of fault.
type row struct {
	kind                            *kind
	exchanges                       int
	answered, failed, lost, foreign int
	reasked                         int // announcements beyond the first, as the gateway counts them
	twice                           int // calls that were carried out more than once when their caller was told
	nudges                          int
	unexpected                      int // errors, where there is no reason for one
	slowest                         time.Duration
	lasted                          time.Duration
}

// table is what came of all of them.
type table struct {
	mu       sync.Mutex
	rows     []*row
	unpoison int
	faults   int
	words    []string
}

func newTable() *table { return &table{} }

func (t *table) row(k *kind) *row {
	for _, r := range t.rows {
		if r.kind == k {
			return r
		}
	}
	r := &row{kind: k}
	t.rows = append(t.rows, r)
	return r
}

func (t *table) fault(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong(format, args...)
}

// wrong is called with mu held.
func (t *table) wrong(format string, args ...any) {
	if t.faults++; len(t.words) < faultsKept {
		t.words = append(t.words, fmt.Sprintf(format, args...))
	}
}

// note notes how a call ended.
func (t *table) note(k *kind, word string, e ending, executions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.row(k)
	r.exchanges++
	r.slowest = max(r.slowest, e.took)
	if executions > 1 {
		r.twice++
	}
	switch e.result {
	case answered:
		r.answered++
		if executions == 0 {
			t.wrong("%s: %s was answered although nobody carried it out", k.name, word)
		}
	case failed:
		r.failed++
		if !k.fails {
			r.unexpected++
			t.wrong("%s: %s failed after %v: %v", k.name, word, e.took, e.err)
		}
	case lost:
		r.lost++
		t.wrong("%s: %s was lost after %v: %v", k.name, word, e.took, e.err)
	case foreign:
		r.foreign++
		t.wrong("%s: %s got what is not its own: %v", k.name, word, e.err)
	}
}

func (t *table) nudged(k *kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.row(k).nudges++
}

// unpoisoned counts a fault that toxiproxy did not make.
func (t *table) unpoisoned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unpoison++
}

// close ends a row.
func (t *table) close(k *kind, reasked int, lasted time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.row(k)
	r.reasked += reasked
	r.lasted = lasted
}

const rowFormat = "%-38s %9v %9v %7v %11v %9v %6v %5v %8v %9v %7v\n"

func (t *table) head(out io.Writer) {
	fmt.Fprintf(out, rowFormat, "fault", "exchanges", "answered", "errors", "asked again", "ran twice", "nudged", "lost", "foreign", "slowest", "took")
}

func (r *row) print(out io.Writer) {
	fmt.Fprintf(out, rowFormat, r.kind.name, r.exchanges, r.answered, r.failed, r.reasked, r.twice, r.nudges, r.lost, r.foreign, r.slowest.Round(time.Millisecond), r.lasted.Round(100*time.Millisecond))
}

func (t *table) printRow(k *kind, out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.row(k).print(out)
}

// print prints the sum, and what is wrong; it returns how much is.
func (t *table) print(out io.Writer) (wrong int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := &row{kind: &kind{name: "all"}}
	for _, r := range t.rows {
		sum.exchanges += r.exchanges
		sum.answered += r.answered
		sum.failed += r.failed
		sum.reasked += r.reasked
		sum.twice += r.twice
		sum.nudges += r.nudges
		sum.lost += r.lost
		sum.foreign += r.foreign
		sum.slowest = max(sum.slowest, r.slowest)
		sum.lasted += r.lasted
	}
	sum.print(out)
	if t.unpoison > 0 {
		fmt.Fprintf(out, "%d rounds went without their fault, which toxiproxy did not make\n", t.unpoison)
	}
	for _, w := range t.words {
		fmt.Fprintln(out, "  ", w)
	}
	return t.faults
}
