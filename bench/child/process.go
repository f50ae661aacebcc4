//go:build linux

package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Process is a running child. It is killed with this process, should that end first.
type Process struct {
	Addresses // where it can be reached
	Started   time.Time

	cmd   *exec.Cmd
	said  tail
	ended chan struct{}
}

// Addresses are what a child says in its first line, as JSON.
type Addresses struct {
	Outside string `json:"outside,omitempty"`
	Inside  string `json:"inside,omitempty"`
	Ops     string `json:"ops,omitempty"`
	Control string `json:"control,omitempty"` // of a Role: see Memory
	Post    string `json:"post,omitempty"`    // of the floors
	Plain   string `json:"plain,omitempty"`
	Raw     string `json:"raw,omitempty"`
}

// readyWithin is how long a child may take to say where it is.
const readyWithin = 60 * time.Second

// Start starts a command. ready is given each line of its standard output until it knows the addresses; nil: nobody waits.
func Start(cmd *exec.Cmd, ready func(line string) (Addresses, bool)) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &p.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = in
	p.Started = time.Now()
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	found := make(chan Addresses, 1)
	go func() {
		defer out.Close()
		lines := bufio.NewReader(out)
		for ready != nil {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if a, ok := ready(line); ok {
				found <- a
				break
			}
			_, _ = p.said.Write([]byte(line))
		}
		_, _ = io.Copy(&p.said, lines)
	}()
	if ready == nil {
		return p, nil
	}
	select {
	case p.Addresses = <-found:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("%s ended at once: %s", cmd.Path, p.said.String())
	case <-time.After(readyWithin):
		p.Stop()
		return nil, fmt.Errorf("%s was not ready in %v: %s", cmd.Path, readyWithin, p.said.String())
	}
}

// inJSON reads a Role's first line.
func inJSON(line string) (a Addresses, ok bool) { return a, json.Unmarshal([]byte(line), &a) == nil }

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Said is the end of what the process printed.
func (p *Process) Said() string { return p.said.String() }

// Running is false once the process has ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stopWithin is how long a child may take to end by itself.
const stopWithin = 5 * time.Second

// Stop ends the process and what it started.
func (p *Process) Stop() {
	_ = syscall.Kill(p.PID(), syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
	}
	// What it started is in its group, and may have outlived it.
	if err := syscall.Kill(-p.PID(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = p.cmd.Process.Kill()
	}
	<-p.ended
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if extra := len(t.b) - tailSize; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.b))
}
