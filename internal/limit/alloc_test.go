//go:build !race

package limit

import (
	"net/netip"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestChargingAllocatesNothing(t *testing.T) {
	b := NewBudget(1<<30, 1<<30)
	for name, n := range map[string]int{"small": 256, "large": size} {
		if got := testing.AllocsPerRun(100, func() {
			buffer, next := codec.GetBuffer(n), codec.GetBuffer(n)
			if b.Charge("a", buffer) != nil {
				t.Error("refused")
			}
			next.Inherit(buffer)
			buffer.Release()
			next.Release()
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
	if b.Used() != 0 {
		t.Errorf("%d bytes are held", b.Used())
	}
}

func TestAdmittingAllocatesNothing(t *testing.T) {
	r := NewRate(1000)
	from, now := netip.MustParseAddr("192.0.2.1"), time.Now()
	if got := testing.AllocsPerRun(100, func() { r.Admit(from, now) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
