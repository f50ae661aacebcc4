package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// runWithin bounds a run: both halves together take less than half a minute where they have two cores.
const runWithin = 3 * time.Minute

// half is one of the two roles.
type half struct {
	name string
	run  func(ctx context.Context, s suite, onPanic func(value any, stack []byte)) error
}

var halves = []half{{"accepting", accepting}, {"dialling", dialling}}

// both runs the halves at once, since the suite mostly waits, and tells what came of each.
func both(ctx context.Context, s suite) error {
	ctx, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	wrong := make([]error, len(halves))
	var running sync.WaitGroup
	for i, h := range halves {
		running.Go(func() {
			var p panics
			err := h.run(ctx, s.of(h.name), p.note)
			if err != nil {
				cancel() // what stopped one half may be what the other waits for, a pattern without cases say
			}
			wrong[i] = errors.Join(err, p.err())
		})
	}
	running.Wait()
	for i, h := range halves {
		ran, err := readReports(s.of(h.name).reports(), agent)
		if err == nil {
			err = tell(h.name, judge(ran, s.only == ""))
		}
		if err = errors.Join(wrong[i], err); err != nil {
			wrong[i] = fmt.Errorf("%s: %w", h.name, err)
		}
	}
	return errors.Join(wrong...)
}

// accepting has the suite's fuzzing client connect to an echo server.
func accepting(ctx context.Context, s suite, onPanic func(value any, stack []byte)) error {
	server, err := listen(ctx, onPanic)
	if err != nil {
		return err
	}
	defer server.stop()
	return s.fuzzingClient(ctx, server.url())
}

// dialling connects to the suite's fuzzing server, once for each case.
func dialling(ctx context.Context, s suite, onPanic func(value any, stack []byte)) error {
	url, stop, err := s.fuzzingServer()
	if err != nil {
		return err
	}
	err = newDialler(url, onPanic).runAll(ctx)
	return errors.Join(err, stop())
}

// panics keeps what internal/wsock recovered from, which the suite may have taken for a broken connection.
type panics struct {
	mu    sync.Mutex
	found []error
}

func (p *panics) note(value any, stack []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, fmt.Errorf("panic: %v\n%s", value, stack))
}

func (p *panics) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.found...)
}
