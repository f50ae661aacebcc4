package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a child of this process, in a group of its own. It dies with it, and Stop leaves nothing of its group.
type Process struct {
	Name  string
	Lines <-chan string // standard output, line by line; closed at its end; whoever starts a process reads them all

	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when it has ended; err is set then
	err   error
}

// Start starts cmd without the environment's GATEWAY_ settings. What it writes goes to NAME.log in the folder logs; standard
// output is given line by line as well.
func Start(name string, cmd *exec.Cmd, logs string) (*Process, error) {
	log, err := os.Create(filepath.Join(logs, name+".log"))
	if err != nil {
		return nil, err
	}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GATEWAY_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.SysProcAttr = childAttributes()
	cmd.Stderr = log
	// What a dead process left running may hold its output open: that is waited for no longer than this.
	cmd.WaitDelay = time.Second
	reader, writer := io.Pipe()
	cmd.Stdout = io.MultiWriter(log, writer)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", name, err), log.Close())
	}
	lines := make(chan string, 64)
	p := &Process{Name: name, Lines: lines, cmd: cmd, log: log.Name(), ended: make(chan struct{})}
	go deliver(reader, lines)
	go func() {
		p.err = cmd.Wait()
		_ = writer.Close()
		_ = log.Close()
		close(p.ended)
	}()
	return p, nil
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Stop ends the process with SIGTERM, or with SIGKILL when it does not go, which is an error like a bad exit status. In the
// end nothing of its group is left.
func (p *Process) Stop(within time.Duration) error {
	if p == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	err := p.Await(within)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
			return nil // it has no handler for it
		}
	}
	return err
}

// Kill ends the process and its group with SIGKILL, and waits for that.
func (p *Process) Kill() {
	killGroup(p.cmd)
	for range p.Lines { // nobody reads them any more
	}
	<-p.ended
}

// Signal sends the process a signal; it may have ended by itself.
func (p *Process) Signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Await waits for an end; a process that does not come to one is killed, which is an error.
func (p *Process) Await(within time.Duration) error {
	go func() {
		for range p.Lines { // nobody reads them any more
		}
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	late := false
	select {
	case <-p.ended:
	case <-timer.C:
		late = true
	}
	killGroup(p.cmd)
	<-p.ended
	if late {
		return fmt.Errorf("%s did not end within %v and was killed%s", p.Name, within, p.said())
	}
	if p.err != nil {
		return fmt.Errorf("%s ended badly: %w%s", p.Name, p.err, p.said())
	}
	return nil
}

// Next is the next line of standard output.
func (p *Process) Next(within time.Duration) (string, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case line, ok := <-p.Lines:
		if ok {
			return line, nil
		}
		return "", fmt.Errorf("%s ended without a word on standard output%s", p.Name, p.said())
	case <-timer.C:
		return "", fmt.Errorf("%s said nothing on standard output within %v%s", p.Name, within, p.said())
	}
}

// mostSaid bounds what an error tells of a process's log.
const mostSaid = 2000

// said is the end of what the process wrote, for an error.
func (p *Process) said() string {
	b, err := os.ReadFile(p.log)
	if err != nil || len(b) == 0 {
		return ""
	}
	if len(b) > mostSaid {
		b = b[len(b)-mostSaid:]
	}
	return "; it wrote:\n" + strings.TrimSpace(string(b))
}
