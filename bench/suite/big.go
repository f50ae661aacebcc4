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
	// UpgradeChecked is UpgradePlain with the result's JSON checked, as the protocol wants it (D2).
	UpgradeChecked *Series `json:"upgrade_checked"`

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
	p.Rounds = pick(p, 5, 3)
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
	postFast := s.crew(newPosts(f.Post, path, "", bigCallers, false))
	postPlain := s.crew(newPosts(f.Plain, path, "", bigCallers, false))
	upgradeFast := s.crew(newUpgrades(f.Post, floor.AnswerPath, result, bigCallers))
	upgradePlain := s.crew(newUpgrades(f.Plain, floor.LastPath, result, bigCallers))
	upgradeChecked := s.crew(newUpgrades(f.Plain, floor.CheckedPath, result, bigCallers))
	if s.err != nil {
		return s.err
	}
	got, err := contest(p, crewOf("gateway", gateway, g.PID()),
		crewOf("POST, fasthttp", postFast, f.PID()), crewOf("POST, plain", postPlain, f.PID()),
		crewOf("upgrade, fasthttp", upgradeFast, f.PID()), crewOf("upgrade, plain", upgradePlain, f.PID()),
		crewOf("upgrade, checked", upgradeChecked, f.PID()))
	if err != nil {
		return err
	}
	b.Gateway = got["gateway"]
	b.PostFast, b.PostPlain = got["POST, fasthttp"], got["POST, plain"]
	b.UpgradeFast, b.UpgradePlain = got["upgrade, fasthttp"], got["upgrade, plain"]
	b.UpgradeChecked = got["upgrade, checked"]
	return nil
}

// Floor is the combined floor; a frame on an open socket, which is as small as ever, is left out.
func (b *Big) Floor() *Series {
	return combined("floor", Fastest(b.PostFast, b.PostPlain), Fastest(b.UpgradeFast, b.UpgradePlain))
}

// Checked is the combined floor with the JSON checked.
func (b *Big) Checked() *Series {
	return combined("floor, checked", Fastest(b.PostFast, b.PostPlain), b.UpgradeChecked)
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
