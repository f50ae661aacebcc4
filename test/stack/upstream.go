package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"time"
)

// StartUpstream starts test/interop/upstream.
func StartUpstream(program string, stateless bool, logs string) (p *Process, url string, err error) {
	p, err = Start("upstream", exec.Command(program, fmt.Sprintf("-stateless=%t", stateless)), logs)
	if err != nil {
		return nil, "", err
	}
	line, err := p.Next(startWithin)
	if err != nil {
		return nil, "", errors.Join(err, p.Stop(stopWithin))
	}
	return p, strings.TrimPrefix(line, "upstream: "), nil
}

// StartEverything starts the SDK's conformance server. It is told its port and does not say when it listens: it is tried.
func StartEverything(program string, stateless bool, logs string) (p *Process, url string, err error) {
	p, address, err := StartListening("upstream", logs, func(address string) (*exec.Cmd, error) {
		return exec.Command(program, "-http", address, fmt.Sprintf("-stateless=%t", stateless)), nil
	})
	return p, "http://" + address + "/mcp", err
}

// StartListening starts the command that listens on an address of loopback, and returns once it does. Where something else
// has the port already the command has to end, and another port is tried.
func StartListening(name, logs string, command func(address string) (*exec.Cmd, error)) (p *Process, address string, err error) {
	var wrong error
	for range 10 {
		address = fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		cmd, err := command(address)
		if err != nil {
			return nil, "", err
		}
		if p, err = Start(name, cmd, logs); err != nil {
			return nil, "", err
		}
		if err = p.listens(address); err == nil {
			return p, address, nil
		}
		wrong = errors.Join(err, p.Stop(stopWithin))
	}
	return nil, "", wrong
}

// Ports that the usual ip_local_port_range gives to nobody's outgoing connections.
const (
	firstPort = 20_000
	ports     = 10_000
)

// listens waits until p takes connections at address. Where another program does, p has ended.
func (p *Process) listens(address string) error {
	deadline := time.Now().Add(startWithin)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended at once%s", p.Name, p.said())
		case <-tick.C:
		}
		c, err := new(net.Dialer).DialContext(context.Background(), "tcp", address)
		if err != nil {
			continue
		}
		_ = c.Close()
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended at once%s", p.Name, p.said())
		case <-time.After(100 * time.Millisecond):
			return nil
		}
	}
	return fmt.Errorf("%s does not listen on %s after %v%s", p.Name, address, startWithin, p.said())
}
