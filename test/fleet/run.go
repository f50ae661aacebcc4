package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// trial is one run: its processes, and what was seen of them.
type trial struct {
	options
	out    io.Writer
	began  time.Time
	faults *faults
	digest *digest

	binary, key          string
	outside, inside, ops string // addresses

	upstream *upstream
	gateway  *process
	answer   *process
	clients  *clients

	cameIn    time.Duration // until all containers had come
	watching  time.Time
	watched   time.Duration
	samples   []sample // since all had come
	restarted string   // what the restart was like
	deaf      deafness
	oddities  map[string]bool
	quiets    int       // points at which the gauges were compared
	settles   time.Time // when as many containers that have left are remembered as before the last of them
}

// run makes the run and tells how it went. It returns the exit status.
func run(ctx context.Context, o options, out io.Writer) int {
	f := newFaults()
	t := &trial{options: o, out: out, began: f.began, faults: f, digest: newDigest(f), oddities: make(map[string]bool)}
	err := t.run(ctx)
	switch {
	case ctx.Err() != nil:
		t.say("interrupted")
	case err != nil:
		f.add("%v", err)
	}
	return t.summary(ctx.Err() != nil)
}

func (t *trial) say(format string, args ...any) {
	fmt.Fprintf(t.out, "%7s  %s\n", time.Since(t.began).Round(100*time.Millisecond), fmt.Sprintf(format, args...))
}

func (t *trial) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := t.prepare(ctx, dir); err != nil {
		return err
	}
	defer t.end()
	if err := t.start(ctx); err != nil {
		return err
	}
	if err := t.comeIn(ctx); err != nil {
		return err
	}
	if err := t.watch(ctx); err != nil {
		return err
	}
	if t.soak {
		if err := t.quiet(ctx); err != nil {
			return err
		}
	}
	t.finish(ctx)
	return nil
}

// prepare builds the gateway and settles what all its lives have in common.
func (t *trial) prepare(ctx context.Context, dir string) error {
	t.binary, t.key = filepath.Join(dir, "gateway"), filepath.Join(dir, "key")
	build := exec.CommandContext(ctx, "go", "build", "-o", t.binary, "github.com/diverge-network/gateway/cmd/gateway")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	if err := os.WriteFile(t.key, []byte(strings.Repeat("fleet key ", 4)), 0o600); err != nil {
		return err
	}
	addresses, err := freeAddresses(3)
	if err != nil {
		return err
	}
	t.outside, t.inside, t.ops = addresses[0], addresses[1], addresses[2]
	return nil
}

func (t *trial) start(ctx context.Context) (err error) {
	if t.upstream, err = startUpstream(t.notify, t.padding()); err != nil {
		return err
	}
	if err = t.startGateway(ctx); err != nil {
		return err
	}
	answer := exec.Command(t.binary, "answer", "--log-format", "json", "--gateway", "ws://"+t.outside,
		"--container", "*", "--upstream", t.upstream.url, "--upstream-sessions", "shared")
	answer.Stderr = t.digest.of("answer")
	if t.answer, err = spawn("answer", answer); err != nil {
		return err
	}
	t.clients, err = startClients(t.options, "http://"+t.inside, t.digest.of("clients"))
	return err
}

const (
	readyWithin = 30 * time.Second
	endWithin   = 30 * time.Second
)

func (t *trial) startGateway(ctx context.Context) (err error) {
	serve := exec.Command(t.binary, "serve", "--log-format", "json", "--outside", t.outside, "--inside", t.inside,
		"--ops", t.ops, "--session-key-file", t.key, "--container-idle", t.idle.String())
	if t.soak {
		serve.Args = append(serve.Args, "--stream-stall", streamStall.String())
	}
	serve.Stderr = t.digest.of("gateway")
	if t.gateway, err = spawn("gateway", serve); err != nil {
		return err
	}
	return t.until(ctx, readyWithin, 20*time.Millisecond, "the gateway is ready", func() bool {
		m, err := scrape(ctx, t.metricsURL())
		return err == nil && m.sum("gateway_ready") == 1
	})
}

func (t *trial) metricsURL() string { return "http://" + t.ops + "/metrics" }

// until waits for something, as long as nothing dies.
func (t *trial) until(ctx context.Context, within, every time.Duration, what string, is func() bool) error {
	deadline := time.Now().Add(within)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for !is() {
		if err := t.alive(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %s", within, what)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pass lets time pass, or ctx end.
func (t *trial) pass(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (t *trial) alive() error {
	for _, p := range []*process{t.gateway, t.answer, t.clients.child()} {
		if p == nil {
			continue
		}
		if err := p.gone(); err != nil {
			return err
		}
	}
	return nil
}

// comeIn waits until all containers have come.
func (t *trial) comeIn(ctx context.Context) error {
	within := time.Minute + time.Duration(t.containers)*20*time.Millisecond
	next := time.Now()
	err := t.until(ctx, within, 100*time.Millisecond, "all containers have come", func() bool {
		r := t.clients.latest()
		if time.Now().After(next) {
			t.say("%d of %d containers have come", r.Up, t.containers)
			next = time.Now().Add(5 * time.Second)
		}
		return r.Up == t.containers
	})
	t.watching = time.Now()
	t.cameIn = time.Since(t.began)
	return err
}

// finish waits for the last answers, and for the last notification to be heard by everybody.
func (t *trial) finish(ctx context.Context) {
	t.clients.tell(tellFinish)
	err := t.until(ctx, hang+10*time.Second, 100*time.Millisecond, "all calls have ended and all containers are back", func() bool {
		r := t.clients.latest()
		return r.Running == 0 && r.Up == t.containers && r.Streams == t.containers
	})
	if err != nil {
		t.faults.add("%v: %+v", err, t.clients.latest())
		return
	}
	t.pass(ctx, t.young())
	last := t.upstream.silence()
	t.clients.tell(fmt.Sprint(tellHeard, " ", last))
	err = t.until(ctx, 10*time.Second, 100*time.Millisecond, "all containers have heard the last notification", func() bool {
		r := t.clients.latest()
		return r.Heard == last && r.Deaf == 0
	})
	if err != nil && ctx.Err() == nil {
		t.faults.add("%v: %d have not", err, t.clients.latest().Deaf)
	}
}

// end ends whatever runs.
func (t *trial) end() {
	ended := []error{t.clients.end(), t.answer.stop(endWithin), t.gateway.stop(endWithin)}
	if t.upstream != nil {
		ended = append(ended, t.upstream.close())
	}
	for _, err := range ended {
		if err != nil {
			t.faults.add("%v", err)
		}
	}
}
