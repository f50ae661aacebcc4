package attack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/gateway"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// starved is the environment variable that has the test's program serve a gateway
// that may have few descriptors.
const starved = "ATTACK_SERVE_STARVED"

const fewDescriptors = 200

func serveStarved() {
	limit := unix.Rlimit{Cur: fewDescriptors, Max: fewDescriptors}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	c := gateway.Default()
	c.Outside, c.Inside, c.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	g, err := gateway.New(c)
	if err != nil {
		panic(err)
	}
	if err := g.Start(); err != nil {
		panic(err)
	}
	fmt.Println(g.OutsideAddr(), g.InsideAddr(), g.OpsAddr())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over
	_ = g.Close(context.Background())
}

// TestWhoTakesAllDescriptorsStarvesNobodyWhoIsServed opens connections to the inside,
// and then to the outside, until the process has no more to give: the probes go on,
// and who is connected already is answered.
func TestWhoTakesAllDescriptorsStarvesNobodyWhoIsServed(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), executable)
	process.Env = append(os.Environ(), starved+"=1")
	log := &logBuffer{}
	process.Stderr = log
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, log: log}
	if _, err := fmt.Fscan(bufio.NewReader(stdout), &w.outside, &w.inside, &w.ops); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	c := w.container("served")
	c.exchange()
	waiting := c.call() // its answer needs one descriptor more
	ask := c.ask()

	held := w.flood(w.inside, 2*fewDescriptors)
	eventually(t, func() bool { return log.count("cannot be accepted") == 1 }, log.String)
	waiting.answer(ask)
	waiting.hears()
	more := w.flood(w.outside, 2*fewDescriptors)
	eventually(t, func() bool { return log.count("cannot be accepted") == 2 }, log.String)
	for range 10 { // some come free, and are taken again
		for _, conn := range more[:10] {
			_ = conn.Close()
		}
		more = append(more[10:], w.flood(w.outside, 10)...)
	}
	if n := w.metric("gateway_ready"); n != 1 {
		t.Errorf("ready is %d", n)
	}
	if n := w.metric("process_open_fds"); n < fewDescriptors*3/4 || n >= fewDescriptors {
		t.Errorf("%d descriptors are open, of %d", n, fewDescriptors)
	}
	c.line.Ping([]byte("still there"))
	for {
		f, err := c.line.Next()
		if err != nil {
			t.Fatalf("who is served: %v", err)
		}
		if f.Op == wstest.OpPong {
			break
		}
	}
	busy := w.metric("process_cpu_seconds_total")
	for _, conn := range append(held, more...) {
		_ = conn.Close()
	}
	c.exchange()
	if n := log.count("cannot be accepted"); n != 2 {
		t.Errorf("the shortages were logged %d times, wanted once by each listener", n)
	}
	if busy > 5 {
		t.Errorf("it took %d s of processor time", busy)
	}
	_ = stdin.Close()
	if err := process.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	if strings.Contains(log.String(), "panic") {
		t.Error(log)
	}
}

// flood opens connections that say nothing.
func (w *world) flood(addr string, n int) []net.Conn {
	w.t.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		tried.Add(1)
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			w.t.Fatal(err)
		}
		conns[i] = conn
		w.t.Cleanup(func() { _ = conn.Close() })
	}
	return conns
}
