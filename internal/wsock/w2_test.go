package wsock

import (
	"bytes"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func TestW2_EveryMessageWeSendIsOneBinaryFrame(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, _ := served(t, cfg)
		for _, n := range []int{0, 1, 5, 125, 126, 127, 65535, 65536, 1 << 20} {
			payload := pattern(n)
			for _, cut := range []int{0, min(n, 5), n} {
				c.Append(payload[:cut], payload[cut:])
				c.Flush()
				same(t, p.ReadBinary(), payload)
			}
		}
	})
}

func TestW2_FramesQueuedTogetherKeepTheirOrder(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, _ := served(t, cfg)
		for i := range 100 {
			c.Append([]byte{byte(i)}, pattern(i))
		}
		c.Flush()
		for i := range 100 {
			same(t, p.ReadBinary(), append([]byte{byte(i)}, pattern(i)...))
		}
	})
}

// The client's frames have a fresh key each: the peer sees different bytes.
func TestW2_EveryFrameOfAClientHasItsOwnKey(t *testing.T) {
	seen := map[string]bool{}
	for range 16 {
		b := appendFrame(nil, true, 2, nil, nil)
		seen[string(b.B[2:6])] = true
		b.Release()
	}
	if len(seen) < 15 {
		t.Fatalf("16 frames had %d different keys", len(seen))
	}
}

func TestW2_FragmentsAreJoined(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := served(t, cfg)
		p.Fragments(wstest.OpBinary, []byte("a"), nil, []byte("bc"), nil)
		same(t, r.message(t), []byte("abc"))
		p.Fragments(wstest.OpBinary, nil, nil)
		same(t, r.message(t), nil)
		big := pattern(300 << 10)
		p.Fragments(wstest.OpBinary, big[:70<<10], big[70<<10:70<<10+3], big[70<<10+3:])
		same(t, r.message(t), big)
	})
}

// Every way to cut the wire in two, and every way to cut the message in two.
func TestW2_EveryByteBoundaryIsAPlaceToCut(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		message := pattern(300)
		for _, at := range []int{0, 1, 125, 126, 127, 299, 300} {
			frames := []wstest.Frame{
				{Op: wstest.OpBinary, Payload: message[:at]},
				{Fin: true, Op: wstest.OpPing, Payload: []byte("between")},
				{Fin: true, Op: wstest.OpContinuation, Payload: message[at:]},
				{Fin: true, Op: wstest.OpClose, Payload: wstest.CloseBody(1000, "so long")},
			}
			var wire []byte
			for _, f := range frames {
				f.Masked = !cfg.Client
				wire = wstest.AppendFrame(wire, f)
			}
			for cut := range wire {
				checkEvents(t, cfg.Client, message, bytes.Clone(wire[:cut]), bytes.Clone(wire[cut:]))
			}
			var each [][]byte
			for i := range wire {
				each = append(each, []byte{wire[i]})
			}
			checkEvents(t, cfg.Client, message, each...)
		}
	})
}

// checkEvents expects a ping, the message and a Close of the pieces.
func checkEvents(t *testing.T, client bool, message []byte, pieces ...[]byte) {
	t.Helper()
	in := incoming{client: client}
	defer in.release()
	want := []event{evPing, evMessage, evClose}
	for _, p := range pieces {
		for len(p) > 0 {
			rest, body, ev, bad := in.next(p, 0)
			p = rest
			if bad != nil {
				t.Fatal(bad)
			}
			if ev == evNone {
				continue
			}
			if len(want) == 0 || ev != want[0] {
				t.Fatalf("event %d, wanted the first of %v", ev, want)
			}
			want = want[1:]
			switch ev {
			case evPing:
				same(t, body, []byte("between"))
			case evClose:
				same(t, body, wstest.CloseBody(1000, "so long"))
			case evMessage:
				b := in.takeMessage()
				same(t, b.B, message)
				b.Release()
			}
		}
	}
	if len(want) > 0 {
		t.Fatalf("events %v did not come", want)
	}
}

// The same over TCP, one byte per segment as the peer's kernel likes it.
func TestW2_ADribbleIsAMessage(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := served(t, cfg)
		var wire []byte
		message := pattern(200)
		for _, f := range []wstest.Frame{{Op: wstest.OpBinary, Payload: message[:100]}, {Fin: true, Payload: message[100:]}} {
			f.Masked = !cfg.Client
			wire = wstest.AppendFrame(wire, f)
		}
		for i := range wire {
			p.Raw(wire[i : i+1])
		}
		same(t, r.message(t), message)
	})
}
