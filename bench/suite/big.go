//go:build linux

package suite

import (
	"fmt"
	"time"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/floor"
)

// Big is exchanges whose result is 1 MiB.
type Big struct {
	Size    int     `json:"size"`
	Gateway *Series `json:"gateway"`

	PostFast     *Series `json:"post_fast"`
	PostPlain    *Series `json:"post_plain"`
	UpgradeFast  *Series `json:"upgrade_fast"`
	UpgradePlain *Series `json:"upgrade_plain"`

	// Peaks are what a fresh gateway's process grew by at its highest, in bytes for each exchange in flight, by how many are.
	Peaks []Peak `json:"peaks"`
}

// Peak is what so many exchanges at once took, each.
type Peak struct {
	AtOnce int   `json:"at_once"`
	Bytes  int64 `json:"bytes"`
}

const (
	bigSize    = 1 << 20
	bigCallers = 8
)

// MeasureBig measures it.
func MeasureBig(p Plan, program string) (*Big, error) {
	b := &Big{Size: bigSize}
	if err := b.contest(p, program); err != nil {
		return nil, err
	}
	for _, atOnce := range []int{1, 16} {
		bytes, err := bigPeak(p, program, atOnce)
		if err != nil {
			return nil, fmt.Errorf("%d at once: %w", atOnce, err)
		}
		b.Peaks = append(b.Peaks, Peak{AtOnce: atOnce, Bytes: bytes})
	}
	return b, nil
}

func (b *Big) contest(p Plan, program string) error {
	var s stage
	defer s.close()
	g, f := s.gateway(program), s.role("floor")
	if s.err != nil {
		return s.err
	}
	result, path := floor.ResultOf(bigSize), fmt.Sprint(floor.BigPath, bigSize)
	gateway := s.exchanges(g.Addresses, "big", 1, bigCallers, result, false)
	postFast := s.crew(NewPosts(f.Post, path, "", bigCallers, false))
	postPlain := s.crew(NewPosts(f.Plain, path, "", bigCallers, false))
	upgradeFast := s.crew(NewUpgrades(f.Post, result, bigCallers))
	upgradePlain := s.crew(NewUpgrades(f.Plain, result, bigCallers))
	if s.err != nil {
		return s.err
	}
	got, err := contest(p, crewOf("gateway", gateway, g.PID()),
		crewOf("POST, fasthttp", postFast, f.PID()), crewOf("POST, plain", postPlain, f.PID()),
		crewOf("upgrade, fasthttp", upgradeFast, f.PID()), crewOf("upgrade, plain", upgradePlain, f.PID()))
	if err != nil {
		return err
	}
	b.Gateway = got["gateway"]
	b.PostFast, b.PostPlain = got["POST, fasthttp"], got["POST, plain"]
	b.UpgradeFast, b.UpgradePlain = got["upgrade, fasthttp"], got["upgrade, plain"]
	return nil
}

// Floor is the combined floor; a frame on an open socket, which is as small as ever, is left out.
func (b *Big) Floor() *Series {
	return combined("floor", fastest(b.PostFast, b.PostPlain), fastest(b.UpgradeFast, b.UpgradePlain))
}

// bigPeak has a fresh gateway settle on small exchanges, and then lets it have big ones.
func bigPeak(p Plan, program string, atOnce int) (int64, error) {
	var s stage
	defer s.close()
	g := s.gateway(program)
	small := s.exchanges(g.Addresses, "small", 1, atOnce, floor.Result, false)
	big := s.exchanges(g.Addresses, "big", 1, atOnce, floor.ResultOf(bigSize), false)
	if s.err != nil {
		return 0, s.err
	}
	length := pick(p, 2*time.Second, 500*time.Millisecond)
	if _, err := small.Run(0, length, nil); err != nil {
		return 0, err
	}
	before, _, err := child.Resident(g.PID())
	if err != nil {
		return 0, err
	}
	if err := child.ForgetPeak(g.PID()); err != nil {
		return 0, err
	}
	if _, err := big.Run(0, length, nil); err != nil {
		return 0, err
	}
	_, peak, err := child.Resident(g.PID())
	return (peak - before) / int64(atOnce), err
}

// Print is for the eye.
func (b *Big) Print() {
	fmt.Printf("1 MiB: %.0f/s, floor %.0f (post %.0f %.0f, upgrade %.0f %.0f), ratio %v; cpu %.0f against %.0f; peaks %v\n", b.Gateway.Median(rate), b.Floor().Median(rate),
		b.PostFast.Median(rate), b.PostPlain.Median(rate), b.UpgradeFast.Median(rate), b.UpgradePlain.Median(rate), over(b.Gateway, b.Floor(), rate),
		b.Gateway.Median(cpu), b.Floor().Median(cpu), b.Peaks)
}
