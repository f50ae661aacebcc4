package wsock

import (
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

func TestW9_AMessageOverTheLimitIsClosedWith1009(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		cfg.MaxMessage = 1000
		tooBig := map[string]func(p *wstest.Peer){
			"one frame": func(p *wstest.Peer) { p.Binary(pattern(1001)) },
			"fragments": func(p *wstest.Peer) { p.Fragments(wstest.OpBinary, pattern(500), pattern(501), nil) },
			"declared": func(p *wstest.Peer) {
				p.Raw(append(wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: !cfg.Client}, 1<<63-1), 1, 2, 3, 4))
			},
		}
		for name, send := range tooBig {
			t.Run(name, func(t *testing.T) {
				_, p, r := served(t, cfg)
				send(p)
				if e := r.abrupt(t, 1009); !e.TooBig {
					t.Fatalf("ended with %+v", e)
				}
				if code, _ := p.ReadClose(); code != 1009 {
					t.Fatalf("closed with %d", code)
				}
				p.ReadEOF()
			})
		}
		t.Run("at the limit", func(t *testing.T) {
			_, p, r := served(t, cfg)
			p.Binary(pattern(1000))
			same(t, r.message(t), pattern(1000))
			p.Fragments(wstest.OpBinary, pattern(999), nil, pattern(1))
			same(t, r.message(t), append(pattern(999), 0))
			p.Close(1000)
			r.clean(t, 1000)
		})
	})
}

// Declared as long as can be: what is held follows what has come.
func TestW9_BuffersGrowAsBytesArrive(t *testing.T) {
	in := incoming{client: true}
	defer in.release()
	header := wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary}, 1<<63-1)
	if _, _, _, bad := in.next(header, 0); bad != nil {
		t.Fatal(bad)
	}
	chunk := make([]byte, 4096)
	for arrived := 0; arrived < 1<<20; {
		if arrived%2 == 0 {
			in.next(chunk[:4095], 0)
			arrived += 4095
		} else {
			n := min(len(in.spare()), 1000)
			in.filled(n)
			arrived += n
		}
		if held := cap(in.message.B); held > 2*arrived+2*grain {
			t.Fatalf("%d bytes arrived, %d are held", arrived, held)
		}
	}
}

// What an earlier message has grown is had at once by the next of its size, and
// read into without being moved.
func TestW9_WhatRestsInThePoolIsUsedAtOnce(t *testing.T) {
	const size = 5 << 20
	frame := wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary}, size)
	for range 100 { // a pool may lose what it is given
		codec.GetFrame(size).Release()
		in := incoming{client: true, within: noFragments}
		in.next(append(frame[:len(frame):len(frame)], 1, 2, 3), 0)
		at, room := &in.message.B[0], len(in.spare())
		if room < size-3 {
			in.release()
			continue
		}
		for ev := evNone; ev != evMessage; {
			ev = in.filled(min(len(in.spare()), 64<<10))
		}
		b := in.takeMessage()
		if len(b.B) != size || &b.B[0] != at {
			t.Errorf("the message has %d bytes, and was moved: %v", len(b.B), &b.B[0] != at)
		}
		b.Release()
		return
	}
	t.Error("no message was read in one piece")
}

func TestW9_WithoutALimitLongMessagesArrive(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := served(t, cfg)
		big := pattern(5<<20 + 7)
		p.Binary(big)
		same(t, r.message(t), big)
	})
}
