package main

import (
	"fmt"
	"strings"
	"sync"
)

// ledger knows how often each call was heard of and carried out, by the one word that is its own.
type ledger struct {
	mu    sync.Mutex
	pages map[string]*page
}

// page is one call.
type page struct {
	repeatable bool // its fault allows that it is carried out more than once
	executed   int
	started    chan struct{} // closed when it is carried out for the first time
	held       chan struct{} // nil: its tool waits for nothing; else until it is closed
	once       sync.Once     // of closing held
}

func newLedger() *ledger { return &ledger{pages: make(map[string]*page)} }

// enter makes the page of a call that will be made. held has its tool wait until release.
func (l *ledger) enter(word string, repeatable, held bool) *page {
	p := &page{repeatable: repeatable, started: make(chan struct{})}
	if held {
		p.held = make(chan struct{})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages[word] = p
	return p
}

func (p *page) release() {
	if p.held != nil {
		p.once.Do(func() { close(p.held) })
	}
}

// execute counts that the call which said this is carried out, and returns what its tool waits for; nil: nothing.
func (l *ledger) execute(said string) (held <-chan struct{}, err error) {
	word, _, _ := strings.Cut(said, " ")
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pages[word]
	if p == nil {
		return nil, fmt.Errorf("nobody made the call %.40q", said)
	}
	if p.executed++; p.executed == 1 {
		close(p.started)
	}
	return p.held, nil
}

func (l *ledger) executions(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pages[word].executed
}

// repeated is how many calls were carried out more than once although their fault does not allow it.
func (l *ledger) repeated() (wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for word, p := range l.pages {
		if p.executed > 1 && !p.repeatable {
			wrong = append(wrong, fmt.Sprintf("%s was carried out %d times", word, p.executed))
		}
	}
	return wrong
}

// answerTo is what the tool answers to what it was told.
func answerTo(said string) string { return "heard: " + said }
