//go:build linux

package suite

import (
	"fmt"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/load"
)

// stage holds what a measurement has started, and its first error: after one, nothing more is started.
type stage struct {
	err     error
	closing []func()
}

func (s *stage) close() {
	for i := len(s.closing) - 1; i >= 0; i-- {
		s.closing[i]()
	}
	s.closing = nil
}

func (s *stage) process(p *child.Process, err error) *child.Process {
	if s.err == nil {
		s.err = err
	}
	if err != nil {
		return new(child.Process)
	}
	s.closing = append(s.closing, p.Stop)
	return p
}

// gateway starts a gateway: the program, or where none is given a role, which is the same gateway in a child of this
// program's kind.
func (s *stage) gateway(program string, flags ...string) *child.Process {
	if program == "" {
		return s.role("gateway")
	}
	if s.err != nil {
		return new(child.Process)
	}
	return s.process(child.StartGateway(program, flags...))
}

func (s *stage) role(name string, args ...string) *child.Process {
	if s.err != nil {
		return new(child.Process)
	}
	return s.process(child.StartRole(name, args...))
}

func (s *stage) crew(c *load.Crew, err error) *load.Crew {
	if s.err == nil {
		s.err = err
	}
	if err == nil {
		s.closing = append(s.closing, c.Close)
	}
	return c
}

func (s *stage) exchanges(g child.Addresses, label string, containers, callers int, result []byte, stamped bool) *load.Crew {
	if s.err != nil {
		return nil
	}
	e, err := newExchanges(g, label, containers, callers, result, stamped)
	if err != nil {
		s.err = fmt.Errorf("opening %d containers: %w", containers, err)
		return nil
	}
	s.closing = append(s.closing, e.close)
	return e.Crew
}

// churnAtOnce is how many connections come and go at once.
const churnAtOnce = 32

// churn is clients that connect, send what request makes, wait until that is answered, and leave; farewell, frames with a Close,
// is sent to and answered by those that upgraded.
func (s *stage) churn(addr string, farewell []byte, request func(i int) []byte, answered func([]byte) bool) *load.Crew {
	if s.err != nil {
		return nil
	}
	crew := s.crew(load.NewCrew(loops))
	for i := range churnAtOnce {
		if s.err != nil {
			return nil
		}
		s.err = crew.AddVisits(addr, request(i), farewell, answered)
	}
	return crew
}

// sdkPath is where the Go SDK's handler is: anywhere.
const sdkPath = "/mcp"

// sdk is callers of a server of the Go SDK.
func (s *stage) sdk(addr string) *load.Crew {
	if s.err != nil {
		return nil
	}
	session, err := begin(addr, sdkPath)
	if err != nil {
		s.err = err
		return nil
	}
	return s.crew(newPosts(addr, sdkPath, session, callers, false, "MCP-Protocol-Version: 2025-11-25"))
}
