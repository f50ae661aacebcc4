package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

var started = regexp.MustCompile(`(?m)^gateway: outside wss?://(\S+)  inside https?://(\S+)/mcp  ops http://(\S+)/metrics$`)

// running is a command that runs until it is stopped.
type running struct {
	stop   context.CancelFunc
	code   chan int
	stdout *output
	stderr *output
}

// begin runs a command in the background. It must be stopped by end.
func begin(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, code: make(chan int, 1), stdout: newOutput(), stderr: newOutput()}
	go func() { r.code <- Run(ctx, args, r.stdout, r.stderr) }()
	return r
}

// end stops the command, which must end cleanly.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if code := <-r.code; code != exitOK {
		t.Errorf("status %d; standard error:\n%s", code, r.stderr)
	}
}

// serveOnFreePorts begins `gateway serve` and returns its three addresses.
func serveOnFreePorts(t *testing.T, args ...string) (r *running, outside, inside, ops string) {
	t.Helper()
	r = begin(t, append([]string{"serve", "--outside", "127.0.0.1:0", "--inside", "127.0.0.1:0", "--ops", "127.0.0.1:0"}, args...)...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.stdout.await(t, ctx, "/metrics\n")
	found := started.FindStringSubmatch(r.stdout.String())
	if found == nil {
		t.Fatalf("no summary in %q", r.stdout)
	}
	return r, found[1], found[2], found[3]
}

func TestServeSaysWhereItListensAndStopsCleanly(t *testing.T) {
	r, _, _, _ := serveOnFreePorts(t)
	if lines := strings.Count(r.stdout.String(), "\n"); lines != 1 {
		t.Errorf("%d lines on standard output:\n%s", lines, r.stdout)
	}
	r.end(t)
}

func TestHealthcheckFollowsTheGateway(t *testing.T) {
	r, _, _, ops := serveOnFreePorts(t)
	if code, stdout, stderr := runOnce(t, "healthcheck", "--ops", ops); code != exitOK || stdout != "ready\n" {
		t.Errorf("while it serves: status %d, %q, %q", code, stdout, stderr)
	}
	_, port, _ := net.SplitHostPort(ops)
	t.Setenv("GATEWAY_OPS", ":"+port) // as a container is configured
	if code, stdout, stderr := runOnce(t, "healthcheck"); code != exitOK || stdout != "ready\n" {
		t.Errorf("with the gateway's own variable: status %d, %q, %q", code, stdout, stderr)
	}
	r.end(t)
	code, _, stderr := runOnce(t, "healthcheck", "--ops", ops)
	if code != exitFailure || stderr != "gateway: no gateway listens on --ops "+ops+"\n" {
		t.Errorf("after it stopped: status %d, %q", code, stderr)
	}
}

func TestAPortInUseIsOneClearLineAndStatusOne(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	code, stdout, stderr := runOnce(t, "--outside", "127.0.0.1:0", "--inside", address, "--ops", "127.0.0.1:0")
	if code != exitFailure || stdout != "" {
		t.Errorf("status %d, standard output %q", code, stdout)
	}
	if !strings.HasPrefix(stderr, "gateway: --inside: cannot listen on "+address+": address already in use") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("standard error %q", stderr)
	}
}

func TestInsecureIsWarnedOf(t *testing.T) {
	r, _, _, _ := serveOnFreePorts(t, "--insecure", "--inside", "0.0.0.0:0")
	r.end(t)
	if !strings.Contains(r.stderr.String(), "--insecure") {
		t.Errorf("no warning in %q", r.stderr)
	}
}

func TestVersionNamesVersionRevisionAndGo(t *testing.T) {
	code, stdout, stderr := runOnce(t, "version")
	if code != exitOK || stderr != "" {
		t.Errorf("status %d, standard error %q", code, stderr)
	}
	if !regexp.MustCompile(`^gateway \S+\nrevision \S+\ngo1\.\S+\n$`).MatchString(stdout) {
		t.Errorf("standard output %q", stdout)
	}
}

func TestLogsAreJSONWhereNoTerminalIs(t *testing.T) {
	for format, prefix := range map[string]string{"auto": `{"time":`, "json": `{"time":`, "text": "time="} {
		r, _, _, _ := serveOnFreePorts(t, "--insecure", "--log-format", format)
		r.end(t)
		if !strings.HasPrefix(r.stderr.String(), prefix) {
			t.Errorf("%s: %q", format, r.stderr)
		}
	}
}

// program starts this program as a process of its own, which serves on free ports, and waits until it does.
func program(t *testing.T) (process *exec.Cmd, outside string, stderr *output) {
	t.Helper()
	process, addresses, stderr := programWith(t, nil)
	return process, addresses[1], stderr
}

// programWith is program with flags and variables; the addresses are those of outside, inside and ops, from 1 on.
func programWith(t *testing.T, variables []string, flags ...string) (process *exec.Cmd, addresses []string, stderr *output) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process = exec.CommandContext(t.Context(), executable, append([]string{"--outside", "127.0.0.1:0", "--inside", "127.0.0.1:0", "--ops", "127.0.0.1:0"}, flags...)...)
	process.Env = append(append(os.Environ(), asProgram+"=1"), variables...)
	stderr = newOutput()
	process.Stderr = stderr
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v; standard error:\n%s", err, stderr)
	}
	found := started.FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("no summary in %q", line)
	}
	return process, found, stderr
}

func TestASignalStopsTheProgramCleanly(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		process, _, stderr := program(t)
		if err := process.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if err := process.Wait(); err != nil {
			t.Errorf("%v: %v; standard error:\n%s", s, err, stderr)
		}
	}
}

func TestAHangupDoesNotEndServe(t *testing.T) {
	process, outside, stderr := program(t)
	for range 2 {
		if err := process.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", outside)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404 ") {
			t.Errorf("%q, %v", answer, err)
		}
		_ = conn.Close()
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("%v; standard error:\n%s", err, stderr)
	}
}

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	process, outside, stderr := program(t)
	// A /requests connection whose server never answers the Close keeps a graceful stop waiting.
	conn, err := net.Dial("tcp", outside)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /requests HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	if status, err := reader.ReadString('\n'); err != nil || !strings.Contains(status, " 101 ") {
		t.Fatalf("upgrade: %q, %v", status, err)
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The Close frame shows that the stop has begun.
	for b := byte(0); b != 0x88; {
		if b, err = reader.ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = process.Wait()
	if code := process.ProcessState.ExitCode(); code != exitFailure || !strings.Contains(stderr.String(), "ending at once") {
		t.Errorf("status %d (%v), standard error:\n%s", code, err, stderr)
	}
}
