//go:build linux

package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// jiffy is the unit of /proc's times.
const jiffy = 10 * time.Millisecond

// CPU is the processor time that processes have used, user and system.
func CPU(pids ...int) (total time.Duration, err error) {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, f := range fields[11:13] { // utime, stime
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, err
			}
			total += time.Duration(n) * jiffy
		}
	}
	return total, nil
}

// Descendants are the ids of all processes that pid started, and theirs.
func Descendants(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list) // one that has ended has none
		for _, f := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(append(all, child), Descendants(child)...)
			}
		}
	}
	return all
}

// Resident is what of a process is in memory, and the most that ever was since it began or ForgetPeak.
func Resident(pid int) (now, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			now = kib << 10
		case "VmHWM:":
			peak = kib << 10
		}
	}
	return now, peak, nil
}

// ForgetPeak begins a new peak.
func ForgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// Memory is what a Go process holds.
type Memory struct {
	Heap    int64  // live objects, after a collection
	Stack   int64  // goroutines' stacks
	RSS     int64  // resident
	Mallocs uint64 // objects that were ever allocated
	GC      uint32 // collections so far
}

// Sum is heap and stack.
func (m Memory) Sum() int64 { return m.Heap + m.Stack }

// Memory collects a Role's garbage and says what is left.
func (p *Process) Memory() (Memory, error) { return p.memory("") }

// Mallocs is how many objects a Role has allocated so far; asking allocates a few dozen.
func (p *Process) Mallocs() (float64, error) {
	m, err := p.memory(asIs)
	return float64(m.Mallocs), err
}

func (p *Process) memory(how string) (m Memory, err error) {
	b, err := fetch("http://" + p.Control + "/memory?" + how)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, err
	}
	m.RSS, _, err = Resident(p.PID())
	return m, err
}

// Profile takes a CPU profile of a Role.
func (p *Process) Profile(d time.Duration) ([]byte, error) {
	return fetch(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.Control, max(1, int(d.Seconds()))))
}

// AllocProfile is a Role's profile of all allocations since it began.
func (p *Process) AllocProfile() ([]byte, error) {
	return fetch("http://" + p.Control + "/debug/pprof/allocs")
}

// HeapProfile is a Role's profile of live objects.
func (p *Process) HeapProfile() ([]byte, error) {
	return fetch("http://" + p.Control + "/debug/pprof/heap?gc=1")
}

// Metrics are the samples of a Prometheus text page, by name and labels.
func Metrics(addr string) (map[string]float64, error) {
	b, err := fetch("http://" + addr + "/metrics")
	if err != nil {
		return nil, err
	}
	samples := make(map[string]float64)
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		name, number, ok := cutLast(lines.Text())
		if v, err := strconv.ParseFloat(number, 64); ok && err == nil && !strings.HasPrefix(name, "#") {
			samples[name] = v
		}
	}
	return samples, nil
}

func cutLast(line string) (name, number string, ok bool) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return "", "", false
	}
	return line[:at], line[at+1:], true
}

var client = http.Client{Timeout: 2 * time.Minute}

func fetch(url string) ([]byte, error) {
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %.200s", url, response.Status, b)
	}
	return b, err
}
