package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is a child of this one. It dies with it.
type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended; err is set then
	err   error
}

// spawn starts cmd without the environment's GATEWAY_ settings, in a process group of its own: a terminal's Ctrl-C is for
// this process, which ends its children in order.
func spawn(name string, cmd *exec.Cmd) (*process, error) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GATEWAY_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.SysProcAttr = childAttributes()
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s did not start: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the process with SIGTERM, or with SIGKILL when it does not go, which is an error like a bad exit status.
func (p *process) stop(within time.Duration) error {
	if p == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	return p.await(within)
}

// await waits for an end that was asked for.
func (p *process) await(within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end within %v and was killed", p.name, within)
	}
	if p.err != nil {
		return fmt.Errorf("%s ended badly: %w", p.name, p.err)
	}
	return nil
}

// gone is the error of a process that ended although nobody asked it to; nil: it runs.
func (p *process) gone() error {
	select {
	case <-p.ended:
		return errors.Join(fmt.Errorf("%s ended by itself", p.name), p.err)
	default:
		return nil
	}
}

// lines is a Writer that passes on whole lines, each borrowed. It is written to by one goroutine.
type lines struct {
	each func(line []byte)
	rest []byte
}

// longestLine bounds a line; what is over it is passed on in pieces.
const longestLine = 1 << 20

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole && len(l.rest) <= longestLine {
			return len(p), nil
		}
		l.each(line)
		l.rest = append(l.rest[:0], rest...)
	}
}
