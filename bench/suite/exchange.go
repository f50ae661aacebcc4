//go:build linux

package suite

import (
	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
	"github.com/diverge-network/gateway/bench/load"
)

// Exchange is one tools/call of 256 B at a time from each of 64 callers, and its floors and peers.
type Exchange struct {
	Gateway1  *Series `json:"gateway_1"`  // 1 container
	Gateway16 *Series `json:"gateway_16"` // 16 containers

	PostFast     *Series `json:"post_fast"`
	PostPlain    *Series `json:"post_plain"`
	UpgradeFast  *Series `json:"upgrade_fast"`
	UpgradePlain *Series `json:"upgrade_plain"`
	UpgradeLast  *Series `json:"upgrade_last"` // plain; the answer to the Close goes out with the end of TCP
	Frame        *Series `json:"frame"`

	SDKSessions  *Series `json:"sdk_sessions"`
	SDKStateless *Series `json:"sdk_stateless"`
}

// callers is how many clients call at once.
const callers = 64

// MeasureExchange measures it on a gateway whose program is given, or on a child of this program's kind.
func MeasureExchange(p Plan, program string) (*Exchange, error) {
	var s stage
	defer s.close()
	g := s.gateway(program)
	f := s.role("floor")
	sessions, stateless := s.role("sdk"), s.role("sdk", child.Stateless)
	if s.err != nil {
		return nil, s.err
	}
	one := s.exchanges(g.Addresses, "one", 1, callers, floor.Result, false)
	sixteen := s.exchanges(g.Addresses, "sixteen", 16, callers, floor.Result, false)
	postFast := s.crew(newPosts(f.Post, floor.PostPath, "", callers, false))
	postPlain := s.crew(newPosts(f.Plain, floor.PostPath, "", callers, false))
	upgradeFast := s.crew(newUpgrades(f.Post, floor.AnswerPath, floor.Result, callers))
	upgradePlain := s.crew(newUpgrades(f.Plain, floor.AnswerPath, floor.Result, callers))
	upgradeLast := s.crew(newUpgrades(f.Plain, floor.LastPath, floor.Result, callers))
	sdkSessions, sdkStateless := s.sdk(sessions.Inside), s.sdk(stateless.Inside)
	if s.err != nil {
		return nil, s.err
	}
	gateway := func(name string, crew *load.Crew) entrant {
		e := crewOf(name, crew, g.PID())
		e.mallocs = mallocsOf(g.Ops)
		return e
	}
	got, err := contest(p,
		gateway("gateway, 1 container", one),
		crewOf("POST, fasthttp", postFast, f.PID()),
		crewOf("POST, plain", postPlain, f.PID()),
		crewOf("upgrade + message + close, fasthttp", upgradeFast, f.PID()),
		crewOf("upgrade + message + close, plain", upgradePlain, f.PID()),
		crewOf("upgrade + message + close, last", upgradeLast, f.PID()),
		frames("frame", f.Plain, loops, frameSize, f.PID()),
		gateway("gateway, 16 containers", sixteen),
		crewOf("Go SDK server, sessions", sdkSessions, sessions.PID()),
		crewOf("Go SDK server, stateless", sdkStateless, stateless.PID()),
	)
	if err != nil {
		return nil, err
	}
	return &Exchange{
		Gateway1: got["gateway, 1 container"], Gateway16: got["gateway, 16 containers"],
		PostFast: got["POST, fasthttp"], PostPlain: got["POST, plain"],
		UpgradeFast: got["upgrade + message + close, fasthttp"], UpgradePlain: got["upgrade + message + close, plain"],
		UpgradeLast: got["upgrade + message + close, last"], Frame: got["frame"],
		SDKSessions: got["Go SDK server, sessions"], SDKStateless: got["Go SDK server, stateless"],
	}, nil
}

// frameSize is about that of an ask of 256 B.
const frameSize = 210

// Floor is the combined floor of the fastest ways.
func (e *Exchange) Floor() *Series {
	return combined("floor", Fastest(e.PostFast, e.PostPlain), Fastest(e.UpgradeFast, e.UpgradePlain, e.UpgradeLast), e.Frame)
}

// FloorFast is that of fasthttp alone.
func (e *Exchange) FloorFast() *Series {
	return combined("floor, fasthttp", e.PostFast, e.UpgradeFast, e.Frame)
}
