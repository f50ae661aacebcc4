package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/test/stack"
)

const (
	startWithin = 20 * time.Second
	endWithin   = 20 * time.Second
)

// trial is one run: its processes, and what came of the calls.
type trial struct {
	options
	ctx    context.Context
	out    io.Writer
	began  time.Time
	dir    string
	table  *table
	ledger *ledger

	insideAddress, outsideAddress, opsAddress string

	upstream *upstream
	gateway  *stack.Process
	lives    int // of the gateway
	lanes    []*lane
	walked   atomic.Int64 // containers of walkers so far
}

func (t *trial) fault(format string, args ...any) { t.table.fault(format, args...) }

// run makes the run and tells how it went.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t := &trial{options: o, ctx: ctx, out: out, began: time.Now(), dir: dir, table: newTable(), ledger: newLedger()}
	fmt.Fprintf(out, "faults --exchanges %d --seed %d --lanes %d --stride %d --only %q\n", o.exchanges, o.seed, o.lanes, o.stride, o.only)
	if err := t.up(); err != nil {
		return errors.Join(err, t.down())
	}
	t.table.head(out)
	t.inject()
	t.settle()
	if err := t.down(); err != nil {
		t.fault("%v", err)
	}
	for _, wrong := range t.ledger.repeated() {
		t.fault("%s", wrong)
	}
	t.readLogs()
	wrong := t.table.print(out)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case wrong > 0:
		return fmt.Errorf("%d things are wrong; --seed %d has the same faults", wrong, o.seed)
	}
	fmt.Fprintf(out, "passed in %v\n", time.Since(t.began).Round(time.Second))
	return nil
}

// up starts everything.
func (t *trial) up() error {
	if t.program == "" {
		root, err := stack.Root(t.ctx)
		if err != nil {
			return err
		}
		if t.program, err = stack.Build(t.ctx, root, t.dir, stack.Gateway); err != nil {
			return err
		}
	}
	if err := os.WriteFile(t.key(), []byte(strings.Repeat("faults key ", 4)), 0o600); err != nil {
		return err
	}
	addresses, err := freeAddresses(3)
	if err != nil {
		return err
	}
	t.outsideAddress, t.insideAddress, t.opsAddress = addresses[0], addresses[1], addresses[2]
	t.upstream = newUpstream(t.ledger, t.fault)
	if err := t.upstream.start(); err != nil {
		return err
	}
	if err := t.startGateway(); err != nil {
		return err
	}
	for i := range t.options.lanes {
		l, err := t.bringUp(t.ctx, i)
		if err != nil {
			return err
		}
		t.lanes = append(t.lanes, l)
	}
	return nil
}

func (t *trial) key() string { return filepath.Join(t.dir, "key") }

// Ports that the usual ip_local_port_range gives to nobody's outgoing connections: while the gateway is away one of those
// would otherwise get its ports.
const (
	firstPort = 20_000
	ports     = 10_000
)

func freeAddresses(n int) (found []string, err error) {
	var config net.ListenConfig
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		l, err := config.Listen(context.Background(), "tcp", address)
		if err != nil {
			continue
		}
		defer l.Close() // not before all are found: each is another
		if found = append(found, address); len(found) == n {
			return found, nil
		}
	}
	return nil, errors.New("no free ports on loopback")
}

// startGateway starts the gateway where it was before. What it was told to ask again it asks sooner than usual, and what
// takes long becomes an event stream sooner.
func (t *trial) startGateway() (err error) {
	t.lives++
	cmd := exec.Command(t.program, "serve", "--log-format", "json", "--outside", t.outsideAddress, "--inside", t.insideAddress,
		"--ops", t.opsAddress, "--session-key-file", t.key(), "--reask-after", "100ms", "--sse-after", "400ms", "--drain-timeout", "5s")
	if t.gateway, err = stack.Start(fmt.Sprintf("gateway-%d", t.lives), cmd, t.dir); err != nil {
		return err
	}
	_, err = t.gateway.Next(startWithin)
	return err
}

func (t *trial) down() error {
	var wrong []error
	for _, l := range t.lanes {
		wrong = append(wrong, l.takeDown())
	}
	if t.gateway != nil {
		wrong = append(wrong, t.gateway.Stop(endWithin))
	}
	if t.upstream != nil && t.upstream.server != nil {
		wrong = append(wrong, t.upstream.stop())
	}
	return errors.Join(wrong...)
}

func (t *trial) metrics() (map[string]float64, error) { return scrape(t.ctx, t.opsAddress) }

// scrape reads a gateway's metrics, by name and labels as they are written.
func scrape(ctx context.Context, ops string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ops+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	m := make(map[string]float64)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && name != "#" {
			if m[name], err = strconv.ParseFloat(value, 64); err != nil {
				return nil, err
			}
		}
	}
	return m, lines.Err()
}

// reasked is how many exchanges the gateway has asked again.
func (t *trial) reasked() int {
	m, err := t.metrics()
	if err != nil {
		t.fault("%v", err)
	}
	return int(m[`gateway_asks_reasked_total{reason="lost"}`] + m[`gateway_asks_reasked_total{reason="broke"}`])
}

// settle waits until the gateway owes nobody anything, and finds what it should never have counted.
func (t *trial) settle() {
	deadline := time.Now().Add(hang)
	for t.ctx.Err() == nil {
		m, err := t.metrics()
		if err != nil {
			t.fault("%v", err)
			return
		}
		asks := m["gateway_asks_waiting"] + m[`gateway_asks_in_flight{state="announced"}`] + m[`gateway_asks_in_flight{state="open"}`]
		if asks > 0 && time.Now().Before(deadline) {
			rest(t.ctx, 50*time.Millisecond)
			continue
		}
		if asks > 0 {
			t.fault("%v asks are left although every caller was told", asks)
		}
		for name, value := range m {
			if value > 0 && (strings.HasPrefix(name, "gateway_panics_total") || strings.HasPrefix(name, "gateway_illegal_transitions_total")) {
				t.fault("%s is %v", name, value)
			}
		}
		return
	}
}

// readLogs finds errors in what the processes have logged.
func (t *trial) readLogs() {
	logs, _ := filepath.Glob(filepath.Join(t.dir, "*.log")) // the pattern is well-formed
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			t.fault("%v", err)
		}
		for line := range bytes.Lines(b) {
			if bytes.Contains(line, []byte(`"level":"ERROR"`)) || bytes.Contains(line, []byte("panic:")) || bytes.Contains(line, []byte("DATA RACE")) {
				t.fault("%s: %.500s", filepath.Base(log), line)
			}
		}
	}
}
