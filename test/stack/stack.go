package stack

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

const (
	startWithin = 20 * time.Second
	stopWithin  = 15 * time.Second

	// drain is how long answering goes on after SIGTERM: what is open then is nobody's any more.
	drain = "1s"
)

// Config says what to start.
type Config struct {
	Gateway   string   // the gateway's program
	Container string   // whose endpoint is tried
	FarSide   string   // revision of what is behind the gateway; empty: one with sessions
	Serve     []string // further flags of gateway serve
	Upstream  *Process // in front of what gateway answer is started; nil: the caller brings a provider's server
	URL       string   // of Upstream
	Logs      string   // folder for what the processes write
}

// Stack is a running gateway and what is behind it.
type Stack struct {
	MCP  string // the container's endpoint, as its clients know it
	Base string // the container's base URL, as its server knows it

	processes []*Process // in the order of their start
}

var served = regexp.MustCompile(`outside ws://(\S+)\s+inside http://(\S+)/mcp\s`)

// Up starts the gateway, and gateway answer where there is an upstream, which then belongs to the stack, whatever happens.
func Up(cfg Config) (*Stack, error) {
	s := &Stack{}
	if cfg.Upstream != nil {
		s.processes = append(s.processes, cfg.Upstream)
	}
	args := []string{"serve", "--outside", "127.0.0.1:0", "--inside", "127.0.0.1:0", "--ops", "127.0.0.1:0"}
	if cfg.FarSide != "" {
		args = append(args, "--far-side", cfg.FarSide)
	}
	gateway, err := s.start("gateway", exec.Command(cfg.Gateway, append(args, cfg.Serve...)...), cfg.Logs)
	if err != nil {
		return nil, err
	}
	line, err := gateway.Next(startWithin)
	if err != nil {
		return nil, errors.Join(err, s.Down())
	}
	m := served.FindStringSubmatch(line)
	if m == nil {
		return nil, errors.Join(fmt.Errorf("gateway serve began with %q, which does not say where it serves", line), s.Down())
	}
	s.MCP = "http://" + m[2] + "/containers/" + cfg.Container + "/mcp"
	s.Base = "ws://" + m[1] + "/containers/" + cfg.Container
	if cfg.Upstream == nil {
		return s, nil
	}
	_, err = s.start("answer", exec.Command(cfg.Gateway, "answer", "--gateway", "ws://"+m[1], "--container", cfg.Container,
		"--upstream", cfg.URL, "--drain", drain), cfg.Logs)
	return s, err
}

func (s *Stack) start(name string, cmd *exec.Cmd, logs string) (*Process, error) {
	p, err := Start(name, cmd, logs)
	if err != nil {
		return nil, errors.Join(err, s.Down())
	}
	s.processes = append(s.processes, p)
	return p, nil
}

// Down ends what was started, last first, and tells what ended by itself or did not end well.
func (s *Stack) Down() error {
	var wrong []error
	for i := len(s.processes) - 1; i >= 0; i-- {
		p := s.processes[i]
		select {
		case <-p.ended:
			wrong = append(wrong, fmt.Errorf("%s ended by itself", p.Name))
		default:
		}
		wrong = append(wrong, p.Stop(stopWithin))
	}
	s.processes = nil
	return errors.Join(wrong...)
}
