package upstream

import (
	"errors"
	"os/exec"
	"sync"
)

// commands are processes that run. They are kept for KillCommands, which has to know them without anybody's help.
type commands struct {
	mu      sync.Mutex // held while a process starts, so that none slips through
	over    bool
	running map[*exec.Cmd]struct{}
}

// running are the processes of this program: what outlives an exit is the affair of the program, not of an Upstream.
var running commands

// KillCommands ends the processes of every Config.Command in this program at once, with their children, and lets none start
// from then on. It is for a program that is about to exit without Close, as after a second interrupt: nothing else ends
// those processes, since they have process groups of their own. It does not wait, and is safe for concurrent use.
func KillCommands() { running.kill() }

var errKilled = errors.New("the program is about to exit")

func (c *commands) start(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errKilled
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if c.running == nil {
		c.running = make(map[*exec.Cmd]struct{})
	}
	c.running[cmd] = struct{}{}
	return nil
}

// ended is called when the process was waited for. It ends what the process has left behind.
func (c *commands) ended(cmd *exec.Cmd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	killGroup(cmd)
	delete(c.running, cmd)
}

func (c *commands) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for cmd := range c.running {
		killGroup(cmd)
	}
}
