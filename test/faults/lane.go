package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/diverge-network/gateway/test/stack"
)

// lane is one container: its clients, its provider, and the links between them and the gateway.
type lane struct {
	*trial
	id       string
	caller   *caller
	inside   *route // clients to gateway
	outside  *route // provider to gateway
	provider *provider
	quit     context.CancelFunc // of provider

	mu     sync.Mutex
	answer *stack.Process // nil: provider answers
}

// bringUp makes the lane's links, its provider and its session.
func (t *trial) bringUp(ctx context.Context, number int) (l *lane, err error) {
	l = &lane{trial: t, id: fmt.Sprintf("lane-%d", number)}
	if l.inside, err = newRoute(t.insideAddress); err != nil {
		return nil, err
	}
	if l.outside, err = newRoute(t.outsideAddress); err != nil {
		return nil, err
	}
	l.caller = &caller{container: l.id, address: l.inside.address()}
	if err := l.caller.initialize(); err != nil {
		return nil, err
	}
	if number%2 == 0 {
		return l, l.startAnswer()
	}
	ctx, l.quit = context.WithCancel(ctx)
	l.provider = &provider{container: l.id, address: l.outside.address(), ledger: t.ledger, fault: t.fault}
	l.provider.start(ctx)
	return l, nil
}

// answers says that a gateway answer serves the lane.
func (l *lane) answers() bool { return l.provider == nil }

func (l *lane) startAnswer() error {
	cmd := exec.Command(l.program, "answer", "--log-format", "json", "--gateway", "ws://"+l.outside.address(),
		"--container", l.id, "--upstream", l.upstream.url(), "--drain", "1s")
	p, err := stack.Start("answer-"+l.id, cmd, l.dir)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = p
	return nil
}

// killAnswer kills the gateway answer, with SIGKILL.
func (l *lane) killAnswer() {
	l.mu.Lock()
	p := l.answer
	l.answer = nil
	l.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}

func (l *lane) takeDown() error {
	l.caller.drop()
	var err error
	l.mu.Lock()
	answer := l.answer
	l.mu.Unlock()
	if answer != nil {
		err = answer.Stop(endWithin)
	}
	if l.provider != nil {
		l.quit()
		l.provider.running.Wait()
	}
	l.inside.close()
	l.outside.close()
	return err
}

func (l *lane) route(side string) *route {
	if side == clientSide {
		return l.inside
	}
	return l.outside
}

// plan is a round: calls, and what happens to them. It follows from the seed alone.
type plan struct {
	calls      []planned
	injections []injection
	begins     time.Duration // the injections, after the first call; 0: before it
	lasts      time.Duration
	strike     *strike
}

// planned is one call.
type planned struct {
	arguments arguments
	after     time.Duration
	modern    bool
}

// largest is the most bytes that a call carries.
const largest = 12 << 10

func (l *lane) plan(k *kind, r *rand.Rand, calls int) plan {
	var p plan
	for range calls {
		c := planned{after: between(r, 0, 40), modern: r.IntN(2) == 0}
		if k.global != nil {
			c.after = between(r, 0, mostUntil+mostAway+mostBack) // before, while and after
		}
		size := r.IntN(200)
		if r.IntN(4) == 0 {
			size = r.IntN(largest)
		}
		c.arguments.Say = fmt.Sprintf("%s/%s/%016x %s", l.id, strings.ReplaceAll(k.name, " ", "-"), r.Uint64(), strings.Repeat("x", size))
		if r.IntN(3) == 0 {
			c.arguments.Millis = r.IntN(60)
		}
		p.calls = append(p.calls, c)
	}
	if k.inject != nil {
		p.injections = k.inject(r)
		p.lasts = lasting(r)
		if r.IntN(2) == 0 {
			p.begins = 1 + time.Duration(r.IntN(40))*time.Millisecond
		}
	}
	if k.strike != nil {
		p.strike = &strike{moment: time.Duration(r.IntN(8000)) * time.Microsecond, away: between(r, 0, 200)}
	}
	return p
}

// grace is how long after a fault callers may wait before the provider is made to connect again: an exchange that broke three
// times on one connection waits for the next (protocol A5).
const grace = 2 * time.Second

// round carries a plan out, and returns when every caller was told.
func (l *lane) round(ctx context.Context, k *kind, p plan) {
	pages := make([]*page, len(p.calls))
	for i, c := range p.calls {
		word, _, _ := strings.Cut(c.arguments.Say, " ")
		pages[i] = l.ledger.enter(word, k.repeats, p.strike != nil)
	}
	if p.begins == 0 {
		l.poison(p.injections)
	}
	if p.strike != nil {
		p.strike.pages = pages
		p.strike.before(l, k)
	}
	var calls sync.WaitGroup
	for _, c := range p.calls {
		calls.Go(func() {
			rest(ctx, c.after)
			e := l.caller.call(c.arguments, c.modern)
			word, _, _ := strings.Cut(c.arguments.Say, " ")
			l.table.note(k, word, e, l.ledger.executions(word))
		})
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		calls.Wait()
	}()
	if p.strike != nil {
		k.strike(l, p.strike)
	}
	if p.begins > 0 {
		rest(ctx, p.begins)
		l.poison(p.injections)
	}
	rest(ctx, p.lasts)
	l.lift(k, p.injections)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for waiting := true; waiting; {
		select {
		case <-told:
			waiting = false
		case <-timer.C:
			l.table.nudged(k)
			l.outside.cut()
			timer.Reset(grace)
		}
	}
	if k.breaks {
		l.caller.drop()
	}
}

func (l *lane) poison(injections []injection) {
	for i, in := range injections {
		if err := l.route(in.side).toxic().add(in.toxic); err != nil && i == 0 {
			l.table.unpoisoned()
		}
	}
}

// lift ends the fault. Where it breaks connections, those that have seen it end with it.
func (l *lane) lift(k *kind, injections []injection) {
	done := map[string]bool{}
	for _, in := range injections {
		if done[in.side] {
			continue
		}
		done[in.side] = true
		r := l.route(in.side)
		if !k.breaks && r.toxic().heal() == nil {
			continue
		}
		if err := r.renew(); err != nil {
			l.fault("%v", err)
		}
	}
}
