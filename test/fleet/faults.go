package main

import (
	"fmt"
	"sync"
	"time"
)

// faults are what was wrong in a run. The first ones are kept in words.
type faults struct {
	began time.Time

	mu    sync.Mutex
	count int
	words []string
}

const faultsKept = 40

func newFaults() *faults { return &faults{began: time.Now()} }

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if len(f.words) < faultsKept {
		words := fmt.Sprintf(format, args...)
		f.words = append(f.words, fmt.Sprintf("%v: %.500s", time.Since(f.began).Round(100*time.Millisecond), words))
	}
}

func (f *faults) all() (count int, words []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, append([]string(nil), f.words...)
}
