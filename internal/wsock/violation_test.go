package wsock

import (
	"errors"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// Every violation ends the connection abruptly, also if the peer then answers
// our Close, and the peer gets to read that Close whatever it goes on sending.
func TestW6_AViolationIsAbruptWhateverFollows(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		mask := byte(0x80)
		if cfg.Client {
			mask = 0
		}
		whole := func(op byte) wstest.Frame { return wstest.Frame{Fin: true, Op: op, Payload: []byte("x")} }
		frames := func(fs ...wstest.Frame) (b []byte) {
			for _, f := range fs {
				f.Masked = !cfg.Client
				b = wstest.AppendFrame(b, f)
			}
			return b
		}
		wrongMask := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: cfg.Client, Payload: []byte("x")})
		tests := map[string][]byte{
			"RSV1":                          frames(wstest.Frame{Fin: true, RSV: 4, Op: wstest.OpBinary}),
			"RSV2 on a ping":                frames(wstest.Frame{Fin: true, RSV: 2, Op: wstest.OpPing}),
			"RSV3 on a close":               frames(wstest.Frame{Fin: true, RSV: 1, Op: wstest.OpClose}),
			"RSV1 on text":                  frames(wstest.Frame{Fin: true, RSV: 4, Op: wstest.OpText}),
			"wrong masking":                 wrongMask,
			"fragmented ping":               frames(wstest.Frame{Op: wstest.OpPing}),
			"fragmented close":              frames(wstest.Frame{Op: wstest.OpClose}),
			"long ping":                     frames(wstest.Frame{Fin: true, Op: wstest.OpPing, Payload: pattern(126)}),
			"long close":                    frames(wstest.Frame{Fin: true, Op: wstest.OpClose, Payload: pattern(126)}),
			"long pong, only its header":    {0x8a, mask | 127},
			"continuation without a start":  frames(whole(wstest.OpContinuation)),
			"continuation after the end":    frames(wstest.Frame{Op: wstest.OpText}, whole(wstest.OpContinuation), whole(wstest.OpContinuation)),
			"binary inside binary":          frames(wstest.Frame{Op: wstest.OpBinary}, whole(wstest.OpBinary)),
			"text inside binary":            frames(wstest.Frame{Op: wstest.OpBinary}, whole(wstest.OpText)),
			"binary inside text":            frames(wstest.Frame{Op: wstest.OpText}, whole(wstest.OpBinary)),
			"length with its top bit set":   {0x82, mask | 127, 0x80, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4},
			"text with the top bit set":     {0x81, mask | 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4},
			"reserved bit, only the header": {0xc2, mask},
		}
		for _, op := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
			tests["reserved opcode "+string('a'+rune(op))] = frames(whole(op))
		}
		for name, wire := range tests {
			t.Run(name, func(t *testing.T) {
				_, p, r := served(t, cfg)
				p.Raw(wire)
				e := r.abrupt(t, 1002)
				var v *Violation
				if !errors.As(e.Cause, &v) || v.Reason == "" || e.TooBig {
					t.Fatalf("ended with %+v", e)
				}
				p.Send(wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: pattern(100 << 10)})
				if code, reason := p.ReadClose(); code != 1002 || reason != v.Reason {
					t.Fatalf("closed with %d %q", code, reason)
				}
				p.ReadEOF() // a half-close: the peer can still send
				p.NC.Write(frames(wstest.Frame{Fin: true, Op: wstest.OpClose, Payload: wstest.CloseBody(1000, "")}))
				p.NC.CloseWrite()
				p.ReadGone()
				if len(r.ended) > 0 {
					t.Fatal("Ended was called twice")
				}
			})
		}
	})
}

// What the handler finds wrong is a violation like any other (protocol R6).
func TestR6_AViolationOfTheHandlersIsAbruptWithItsCode(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p := pair(t, cfg)
		r := newRecorder()
		r.onMessage = func([]byte) *Violation { return &Violation{Code: 1002, Reason: "nothing is sent here"} }
		c.Serve(r)
		p.Binary([]byte("one"))
		p.Binary([]byte("two"))
		same(t, r.message(t), []byte("one"))
		r.abrupt(t, 1002)
		if code, reason := p.ReadClose(); code != 1002 || reason != "nothing is sent here" {
			t.Fatalf("closed with %d %q", code, reason)
		}
		p.ReadEOF()
	})
}

// The peer keeps its end open and sends on: we stop listening after a second.
func TestR6_TheDrainAfterAViolationIsBounded(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := served(t, cfg)
		p.Raw([]byte{0xff, 0xff})
		r.abrupt(t, 1002)
		p.ReadClose()
		p.ReadEOF()
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := p.NC.Write(make([]byte, 1024)); err != nil {
					ended <- err
					return
				}
			}
		}()
		wait(t, "the end of TCP", ended)
	})
}
