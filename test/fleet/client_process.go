package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// clients is the clients' process, seen from outside.
type clients struct {
	process *process
	orders  io.WriteCloser

	mu   sync.Mutex
	last report
}

func startClients(o options, inside string, errs io.Writer) (*clients, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, clientsCommand, "--inside", inside, "--containers", fmt.Sprint(o.containers),
		"--rate", fmt.Sprint(o.rate), "--replace", fmt.Sprint(o.replace), "--young", o.young().String(), "--stalled", fmt.Sprint(o.stalled))
	c := &clients{}
	cmd.Stderr = errs
	cmd.Stdout = &lines{each: c.hear}
	if c.orders, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	c.process, err = spawn("clients", cmd)
	return c, err
}

func (c *clients) child() *process {
	if c == nil {
		return nil
	}
	return c.process
}

func (c *clients) hear(line []byte) {
	var r report
	if json.Unmarshal(line, &r) != nil {
		return // the end of a line that a kill cut off
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = r
}

func (c *clients) latest() report {
	if c == nil {
		return report{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// tell gives an order. That it was obeyed shows in the reports; that it was not, in the process's end.
func (c *clients) tell(order string) { _, _ = fmt.Fprintln(c.orders, order) }

// end ends the process: it goes when nobody gives orders any more.
func (c *clients) end() error {
	if c == nil {
		return nil
	}
	_ = c.orders.Close() // it may have ended by itself
	return c.process.await(endWithin)
}
