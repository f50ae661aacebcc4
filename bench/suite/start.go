//go:build linux

package suite

import (
	"fmt"
	"os/exec"
	"time"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/wire"
)

// Start is how long it takes from the start of the program to the response of the first exchange, in milliseconds.
type Start struct {
	Exchange []float64 `json:"exchange_ms"`
	// Bare is the program's `version`: what it takes to begin at all.
	Bare []float64 `json:"bare_ms"`
}

// MeasureStart measures it.
func MeasureStart(p Plan, program string) (*Start, error) {
	s := new(Start)
	for range pick(p, 15, 5) {
		took, err := startOnce(program)
		if err != nil {
			return nil, err
		}
		s.Exchange = append(s.Exchange, took.Seconds()*1e3)
		began := time.Now()
		if err := exec.Command(program, "version").Run(); err != nil {
			return nil, err
		}
		s.Bare = append(s.Bare, time.Since(began).Seconds()*1e3)
	}
	return s, nil
}

func startOnce(program string) (time.Duration, error) {
	p, err := child.StartGateway(program)
	if err != nil {
		return 0, err
	}
	defer p.Stop()
	c, err := openContainer(p.Addresses, "first", parts{}, make([]byte, 64<<10))
	if err != nil {
		return 0, err
	}
	took := time.Since(p.Started)
	c.close()
	return took, nil
}

// Churn is connections that come and go, a second.
type Churn struct {
	Requests  *Series `json:"requests"`   // /requests of as many containers: connect, upgrade, Close
	Upgrades  *Series `json:"upgrades"`   // the same, bare
	Sessions  *Series `json:"sessions"`   // a client connects, makes a session, and leaves
	Posts     *Series `json:"posts"`      // connect, POST, leave, bare
	Streams   *Series `json:"streams"`    // a client connects for its event stream, and leaves
	BareReads *Series `json:"bare_reads"` // connect, GET, leave, bare
}

// MeasureChurn measures it.
func MeasureChurn(p Plan, program string) (*Churn, error) {
	p.Rounds = pick(p, 5, 3)
	var s stage
	defer s.close()
	g, f := s.gateway(program), s.role("floor")
	if s.err != nil {
		return nil, s.err
	}
	requests := s.churn(g.Outside, wire.AppendClose(nil), func(i int) []byte { return wire.Upgrade(fmt.Sprintf("/containers/churn-%d/requests", i)) }, nil)
	upgrades := s.churn(f.Plain, wire.AppendClose(nil), func(int) []byte { return wire.Upgrade("/answer") }, nil)
	sessions := s.churn(g.Inside, nil, func(i int) []byte { return wire.Post(endpoint(fmt.Sprintf("churn-%d", i)), "", wire.Initialize) }, wire.Whole)
	posts := s.churn(f.Plain, nil, func(int) []byte { return wire.Post("/post", "", wire.Initialize) }, wire.Whole)
	streams := s.churn(g.Inside, nil, func(i int) []byte {
		path := endpoint(fmt.Sprintf("churn-%d", i))
		session, err := begin(g.Inside, path)
		if s.err == nil {
			s.err = err
		}
		return wire.Listen(path, session)
	}, wire.HeadEnds)
	bare := s.churn(f.Plain, nil, func(int) []byte { return wire.Listen("/stream", "x") }, wire.HeadEnds)
	if s.err != nil {
		return nil, s.err
	}
	got, err := contest(p, crewOf("/requests", requests, g.PID()), crewOf("upgrade", upgrades, f.PID()),
		crewOf("session", sessions, g.PID()), crewOf("post", posts, f.PID()), crewOf("stream", streams, g.PID()), crewOf("read", bare, f.PID()))
	if err != nil {
		return nil, err
	}
	return &Churn{Requests: got["/requests"], Upgrades: got["upgrade"], Sessions: got["session"], Posts: got["post"],
		Streams: got["stream"], BareReads: got["read"]}, nil
}
