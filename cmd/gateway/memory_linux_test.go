package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const memoryLimit = 64 << 20

// TestShortOfMemoryNewWorkIsRefusedAndTheProcessLivesOn has a process of 64 MiB be sent more than that: first bodies that
// count, then many that are too small for it.
func TestShortOfMemoryNewWorkIsRefusedAndTheProcessLivesOn(t *testing.T) {
	process, addresses, stderr := programWith(t, []string{"GOMEMLIMIT=64MiB", "GATEWAY_MAX_MESSAGE=4MiB"})
	s := starved{t: t, inside: addresses[2], ops: addresses[3]}

	most := 0
	for range 24 { // no server takes them
		if s.call("big", 3<<20, true) == http.StatusServiceUnavailable {
			most++
		}
	}
	if most == 0 {
		t.Error("no body was refused for what is held of others")
	}
	for n := 0; s.ping() != http.StatusServiceUnavailable; n++ {
		if n == 200 {
			t.Fatal("memory never was short")
		}
		for range 50 {
			s.call(fmt.Sprint("small", n), 4000, false)
		}
	}
	if !strings.Contains(s.metrics(), "\ngateway_memory_short 1\n") {
		t.Error("the metrics do not say so")
	}
	if rss := peak(t, process.Process.Pid); rss > memoryLimit+besides {
		t.Errorf("%d MiB were resident, of a limit of %d", rss>>20, memoryLimit>>20)
	} else {
		t.Logf("%d of 24 large bodies refused; %d connections; at most %d MiB resident", most, len(s.conns), rss>>20)
	}
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
	for deadline := time.Now().Add(patience); s.ping() != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatalf("it never recovered:\n%s", stderr)
		}
	}
	if s.call("big", 3<<20, true) == http.StatusServiceUnavailable {
		t.Error("what was held is not given back")
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("%v; standard error:\n%s", err, stderr)
	}
	for line, times := range map[string]int{"memory is short": 1, "no longer short": 1, "GOMEMLIMIT": 1} {
		if n := strings.Count(stderr.String(), line); n < times {
			t.Errorf("%q is %d times in the log:\n%s", line, n, stderr)
		}
	}
}

// starved is a gateway that has little memory, as its clients see it.
type starved struct {
	t           *testing.T
	inside, ops string
	conns       []net.Conn
}

// head is the head of a stateless call.
func head(container, method, name string, length int) string {
	text := "POST /containers/" + container + "/mcp HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n"
	if name != "" {
		text += "Mcp-Name: " + name + "\r\n"
	}
	return text + "Content-Length: " + strconv.Itoa(length) + "\r\n\r\n"
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// call sends a call that nobody answers, and keeps its connection. If it is asked for, the status of a refusal that comes
// within a while is returned; 0 where none does.
func (s *starved) call(container string, size int, wait bool) (status int) {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + statelessMeta + `,"arguments":{"x":"` + strings.Repeat("x", size) + `"}}}`
	conn, err := net.Dial("tcp", s.inside)
	if err != nil {
		s.t.Fatal(err)
	}
	s.conns = append(s.conns, conn)
	// Where it is refused early, the rest cannot be written.
	_, _ = io.WriteString(conn, head(container, "tools/call", "t", len(body))+body)
	if !wait {
		return 0
	}
	return statusWithin(conn, 200*time.Millisecond)
}

func statusWithin(conn net.Conn, d time.Duration) (status int) {
	_ = conn.SetReadDeadline(time.Now().Add(d))
	line := make([]byte, len("HTTP/1.1 503"))
	if _, err := io.ReadFull(conn, line); err != nil {
		return 0
	}
	status, _ = strconv.Atoi(string(line[len("HTTP/1.1 "):]))
	return status
}

// ping is the status of a request that needs no server.
func (s *starved) ping() (status int) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.inside)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + statelessMeta + `}}`
	if _, err := io.WriteString(conn, head("probe", "server/discover", "", len(body))+body); err != nil {
		s.t.Fatal(err)
	}
	return statusWithin(conn, patience)
}

func (s *starved) metrics() string {
	s.t.Helper()
	response, err := http.Get("http://" + s.ops + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(text)
}

// peak is how much of a process was resident at most, in bytes.
func peak(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(after, "\n")
	kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
