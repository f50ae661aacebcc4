package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// clientsCommand makes this program the clients' process.
const clientsCommand = "clients"

const (
	// coming is how many containers may be on their way in at once.
	coming = 64
	// reportEvery is the time between reports.
	reportEvery = time.Second
	// pace is how often it is looked whether calls are due.
	pace = 10 * time.Millisecond
	// mostDue is of how long a time the calls are made up for.
	mostDue = time.Second
)

// fleet is all containers' clients.
type fleet struct {
	endpoint *endpoint
	phases   *phases
	tally    *tally
	entrance chan struct{} // of capacity coming
	born     atomic.Int64  // containers so far
	slots    []*slot
	heard    atomic.Uint64 // the notification that all should have heard
	young    time.Duration // how long a container need not have heard anything
	hushed   hush
}

// slot has one container at a time.
type slot struct {
	now     atomic.Pointer[container] // nil: on its way
	replace chan struct{}             // of capacity 1
}

// beClients plays the clients until its input ends.
func beClients(args []string, in io.Reader, out, errs io.Writer) int {
	flags := flag.NewFlagSet(clientsCommand, flag.ContinueOnError)
	flags.SetOutput(errs)
	inside := flags.String("inside", "", "URL of the gateway's inside listener")
	containers := flags.Int("containers", 0, "containers at any time")
	rate := flags.Float64("rate", 0, "calls a second")
	young := flags.Duration("young", 0, "how long a container need not have heard a notification")
	stalled := flags.Int("stalled", 0, "event streams that nobody reads")
	replace := flags.Float64("replace", 0, "percent of the containers replaced in a minute")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	f := &fleet{
		endpoint: newEndpoint(*inside),
		phases:   newPhases(),
		tally:    newTally(newFaults()),
		entrance: make(chan struct{}, coming),
		slots:    make([]*slot, *containers),
		young:    *young,
	}
	defer f.endpoint.close()
	ctx, cancel := context.WithCancel(context.Background())
	working, finish := context.WithCancel(ctx)
	var running sync.WaitGroup
	for i := range f.slots {
		s := &slot{replace: make(chan struct{}, 1)}
		f.slots[i] = s
		running.Go(func() { f.occupy(ctx, s) })
	}
	running.Go(func() { f.work(working, ctx, *rate) })
	for range *stalled {
		running.Go(func() { f.stall(working) })
	}
	running.Go(func() { f.churn(working, *replace/100*float64(*containers)/60) })

	reports := json.NewEncoder(out)
	due := time.NewTicker(reportEvery)
	defer due.Stop()
	for orders, told := read(in), true; told; {
		var order string
		select {
		case order, told = <-orders:
			f.obey(order, finish)
		case <-due.C:
		}
		if err := reports.Encode(f.report()); err != nil {
			break // nobody reads any more
		}
	}
	finish()
	cancel()
	running.Wait()
	return exitOK
}

func read(in io.Reader) <-chan string {
	orders := make(chan string)
	go func() {
		defer close(orders)
		for s := bufio.NewScanner(in); s.Scan(); {
			orders <- s.Text()
		}
	}()
	return orders
}

func (f *fleet) obey(order string, finish context.CancelFunc) {
	switch word, rest, _ := strings.Cut(order, " "); word {
	case tellRestarting, tellRecovering, tellSteady:
		f.phases.enter(phase(word))
	case tellQuiet:
		f.hushed.begin()
	case tellLively:
		f.hushed.end()
	case tellFinish:
		finish()
	case tellHeard:
		if n, err := strconv.ParseUint(rest, 10, 64); err == nil {
			f.heard.Store(n)
		}
	}
}

func (f *fleet) report() report {
	r := f.tally.report()
	r.Phase = f.phases.mark().phase
	r.Heard = f.heard.Load()
	r.Quiet = f.hushed.now()
	for _, s := range f.slots {
		c := s.now.Load()
		if c != nil && r.Quiet {
			r.Names = append(r.Names, c.id)
		}
		if c != nil && time.Since(c.came) > f.young && c.numbers.newest() < r.Heard {
			r.Deaf++
		}
	}
	return r
}

// occupy has a slot's containers come and go.
func (f *fleet) occupy(ctx context.Context, s *slot) {
	for ctx.Err() == nil {
		f.entrance <- struct{}{}
		c, err := f.come(ctx, fmt.Sprintf("c%d", f.born.Add(1)))
		<-f.entrance
		if err != nil {
			return
		}
		s.now.Store(c)
		f.tally.note(func(r *report) { r.Up++ })
		select {
		case <-s.replace:
		case <-ctx.Done():
		}
		s.now.Store(nil)
		f.tally.note(func(r *report) { r.Up-- })
		c.leave(ctx)
		f.tally.note(func(r *report) { r.Replaced++ })
	}
}

// work begins calls at the rate, of containers by chance, as soon as all have come.
func (f *fleet) work(ctx, calls context.Context, rate float64) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	due, all, last := 0.0, false, time.Now()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		since := time.Since(last) // a ticker leaves ticks out when the machine is busy
		last = time.Now()
		f.tally.note(func(r *report) { r.Late = max(r.Late, since-pace) })
		since = min(since, mostDue)
		if f.hushed.now() {
			continue
		}
		if all = all || f.full(); !all {
			continue
		}
		for due += rate * since.Seconds(); due >= 1; due-- {
			f.callOne(calls)
		}
	}
}

func (f *fleet) full() bool {
	for _, s := range f.slots {
		if s.now.Load() == nil {
			return false
		}
	}
	return true
}

// callOne begins a call of some container that is there.
func (f *fleet) callOne(ctx context.Context) {
	for range 100 {
		c := f.slots[rand.IntN(len(f.slots))].now.Load()
		if c != nil && c.begin(ctx) {
			return
		}
	}
}

// churn has containers replaced, so many a second, once all have come.
func (f *fleet) churn(ctx context.Context, perSecond float64) {
	if perSecond == 0 {
		return
	}
	ticker := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer ticker.Stop()
	for all := false; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if all = all || f.full(); !all || f.hushed.now() {
			continue
		}
		select {
		case f.slots[rand.IntN(len(f.slots))].replace <- struct{}{}:
		default: // it is on its way out already
		}
	}
}
