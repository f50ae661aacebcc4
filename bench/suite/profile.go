//go:build linux

package suite

import (
	"os"
	"path/filepath"
	"time"

	"github.com/diverge-network/gateway/bench/floor"
)

// Profile writes profiles of a gateway alone, under 64 callers and 1 container, for a while: cpu.pprof and allocs.pprof.
func Profile(dir string, length time.Duration) error {
	var s stage
	defer s.close()
	g := s.role("gateway")
	crew := s.exchanges(g.Addresses, "profile", 1, callers, floor.Result, false)
	if s.err != nil {
		return s.err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	type profile struct {
		b   []byte
		err error
	}
	taken := make(chan profile, 1)
	go func() {
		time.Sleep(time.Second)
		b, err := g.Profile(length)
		taken <- profile{b, err}
	}()
	if _, err := crew.Run(time.Second, length+time.Second, nil); err != nil {
		return err
	}
	p := <-taken
	if p.err != nil {
		return p.err
	}
	if err := os.WriteFile(filepath.Join(dir, "cpu.pprof"), p.b, 0o644); err != nil {
		return err
	}
	allocs, err := g.AllocProfile()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "allocs.pprof"), allocs, 0o644)
}
