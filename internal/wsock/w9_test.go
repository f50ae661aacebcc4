package wsock

import (
	"bytes"
	"math/rand/v2"
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

// Declared as long as it is, or as long as can be: what is held follows what has
// come.
func TestW9_BuffersGrowAsBytesArrive(t *testing.T) {
	const size = 3 << 20
	for _, declared := range []uint64{size, 1<<63 - 1} {
		for codec.RestedFrame(size) != nil { // of other tests
		}
		in := incoming{client: true, within: noFragments}
		header := wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary}, declared)
		if _, _, _, bad := in.next(header, 0); bad != nil {
			t.Fatal(bad)
		}
		r := rand.New(rand.NewPCG(1, 2))
		whole := pattern(size)
		for arrived := 0; arrived < size; {
			if arrived < 4<<10 || r.IntN(2) == 0 {
				_, _, _, bad := in.next(bytes.Clone(whole[arrived:min(size, arrived+r.IntN(4<<10)+1)]), 0)
				if bad != nil {
					t.Fatal(bad)
				}
				arrived = in.arrived()
			} else if spare, _ := in.spare(); spare != nil {
				in.filled(copy(spare[:1+r.IntN(len(spare))], whole[arrived:]))
				arrived = in.arrived()
			}
			if held := in.held(); held > 2*arrived+2*grain {
				t.Fatalf("%d bytes arrived, %d are held", arrived, held)
			}
		}
		b := in.takeMessage()
		same(t, b.B, whole)
		b.Release()
		in.release()
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
		at, room := &in.message.B[0], len(spareOf(&in))
		if room < size-3 {
			in.release()
			continue
		}
		for ev := evNone; ev != evMessage; {
			ev = in.filled(min(len(spareOf(&in)), 64<<10))
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

func spareOf(in *incoming) []byte {
	spare, _ := in.spare() // nobody bounds it
	return spare
}
