//go:build !race

package ops

import (
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestObservationsAllocateNothing(t *testing.T) {
	o := observed()
	for name, observe := range map[string]func(){
		"Exchange":               func() { o.Exchange(codec.CallTool, "answered", 3*time.Millisecond) },
		"Refused":                func() { o.Refused("outside", "claimed") },
		"Refused, unknown":       func() { o.Refused("outside", "whim") },
		"SocketOpened":           func() { o.SocketOpened("call-tool") },
		"SocketClosed":           func() { o.SocketClosed("call-tool") },
		"Unheard":                func() { o.Unheard("no-stream") },
		"Panicked":               func() { o.Panicked("outside") },
		"SetReady":               func() { o.SetReady(true) },
		"SocketOpened, unlisted": func() { o.SocketOpened("tunnel") },
	} {
		if n := testing.AllocsPerRun(1000, observe); n != 0 {
			t.Errorf("%s allocates %g times", name, n)
		}
	}
}
