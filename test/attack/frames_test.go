package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// ending is what becomes of a call on whose path bad frames came.
type ending int

const (
	askedAgain ending = iota
	answered
	notServed
	tooBig
)

func masked(f wstest.Frame) []byte {
	f.Masked = true
	return wstest.AppendFrame(nil, f)
}

func whole(op byte, payload []byte) []byte {
	return masked(wstest.Frame{Fin: true, Op: op, Payload: payload})
}

// declared is the header of a binary frame of this length, and a little of it.
func declared(length uint64) []byte {
	return append(wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true}, length), "keypayload"...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// badFrames are what a server may not send, or need not; behind some comes code, the
// status of the Close that answers it, 0 for none.
func badFrames(result []byte) []struct {
	name   string
	sent   []byte
	code   int
	ending ending
} {
	closing := whole(wstest.OpClose, wstest.CloseBody(1000, ""))
	bits := func(rsv, op byte) []byte { return masked(wstest.Frame{Fin: true, RSV: rsv, Op: op, Payload: result}) }
	status := func(code int) []byte { return whole(wstest.OpClose, wstest.CloseBody(code, "")) }
	cases := []struct {
		name   string
		sent   []byte
		code   int
		ending ending
	}{
		{"unmasked", wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: result}), 1002, askedAgain},
		{"unmasked Close", wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpClose}), 1002, askedAgain},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), 1002, askedAgain},
		{"zeros", make([]byte, 64), 1002, askedAgain},
		{"long ping", whole(wstest.OpPing, make([]byte, 126)), 1002, askedAgain},
		{"long Close", whole(wstest.OpClose, append([]byte{3, 232}, make([]byte, 124)...)), 1002, askedAgain},
		{"ping in fragments", masked(wstest.Frame{Op: wstest.OpPing}), 1002, askedAgain},
		{"Close in fragments", masked(wstest.Frame{Op: wstest.OpClose}), 1002, askedAgain},
		{"continuation of nothing", whole(wstest.OpContinuation, result), 1002, askedAgain},
		{"binary within binary", join(masked(wstest.Frame{Op: wstest.OpBinary, Payload: result}), whole(wstest.OpBinary, result)), 1002, askedAgain},
		{"text within binary", join(masked(wstest.Frame{Op: wstest.OpBinary, Payload: result}), whole(wstest.OpText, result)), 1002, askedAgain},
		{"2^63 bytes", declared(1 << 63), 1002, askedAgain},
		{"2^64-1 bytes", declared(math.MaxUint64), 1002, askedAgain},
		{"2^63-1 bytes", declared(math.MaxInt64), 1009, tooBig},
		{"a byte too many", declared(64<<20 + 1), 1009, tooBig},
		{"too many in two fragments", join(masked(wstest.Frame{Op: wstest.OpBinary, Payload: result}),
			wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpContinuation, Masked: true}, 64<<20), []byte("key ")), 1009, tooBig},
		{"Close amid fragments", join(masked(wstest.Frame{Op: wstest.OpBinary, Payload: result}), closing), 1000, notServed},
		{"Close of one byte", whole(wstest.OpClose, []byte{3}), 1002, notServed},
		{"Close with a reason that is not UTF-8", whole(wstest.OpClose, wstest.CloseBody(1000, "\xff")), 1007, notServed},
		{"text that is not UTF-8", join(whole(wstest.OpText, []byte("\xff\xfe")), closing), 1000, notServed},
		{"result as text", join(whole(wstest.OpText, result), closing), 1000, notServed},
		{"result behind Close", join(closing, whole(wstest.OpBinary, result)), 1000, notServed},
		{"bytes behind Close", join(whole(wstest.OpBinary, result), closing, bytes.Repeat([]byte{0xff}, 300_000)), 1000, answered},
		{"Close behind Close", join(whole(wstest.OpBinary, result), bytes.Repeat(closing, 5000)), 1000, answered},
		{"two results", join(whole(wstest.OpBinary, result), whole(wstest.OpBinary, []byte("\x00"+`{"content":[],"other":1}`)), closing), 1000, answered},
		{"empty fragments around it", join(masked(wstest.Frame{Op: wstest.OpBinary}), bytes.Repeat(masked(wstest.Frame{}), 1000),
			masked(wstest.Frame{Payload: result}), bytes.Repeat(masked(wstest.Frame{}), 1000), whole(wstest.OpContinuation, nil), closing), 1000, answered},
		{"pongs for nothing", join(bytes.Repeat(whole(wstest.OpPong, make([]byte, 125)), 500), whole(wstest.OpBinary, result), closing), 1000, answered},
		{"empty fragments without an end", join(masked(wstest.Frame{Op: wstest.OpBinary}), bytes.Repeat(masked(wstest.Frame{}), 10_000)), 0, askedAgain},
		{"text without an end", append(wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpText, Masked: true}, 1<<62), make([]byte, 100_000)...), 0, askedAgain},
	}
	for _, rsv := range []byte{1, 2, 4, 7} {
		for _, op := range []byte{wstest.OpBinary, wstest.OpText, wstest.OpPing, wstest.OpClose} {
			cases = append(cases, cases[0])
			c := &cases[len(cases)-1]
			c.name, c.sent = fmt.Sprintf("reserved bits %d of opcode %d", rsv, op), bits(rsv, op)
		}
	}
	for _, op := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		cases = append(cases, cases[0])
		c := &cases[len(cases)-1]
		c.name, c.sent = fmt.Sprintf("opcode %d", op), bits(0, op)
	}
	for _, code := range []int{0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535} {
		cases = append(cases, cases[0])
		c := &cases[len(cases)-1]
		c.name, c.sent, c.ending = fmt.Sprintf("status %d", code), status(code), notServed
	}
	return cases
}

// TestBadFramesEndTheirPathOnlyAndLoseNothing has each come on the answer path of a
// call, which is then answered, asked again or declared not served, as the
// protocol says, and by a reset where the path is still open.
func TestBadFramesEndTheirPathOnlyAndLoseNothing(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("frames")
		defer c.leave()
		for _, bad := range badFrames((&call{c: c, id: 0}).result()) {
			tried.Add(1)
			k := c.call()
			k.id = 0 // the result that is sent is this one's
			p := c.open(c.ask())
			p.Raw(bad.sent)
			if bad.code == 0 {
				p.Reset()
			} else {
				for {
					f, err := p.Next()
					if err != nil {
						t.Fatalf("%s: %v, wanted a Close", bad.name, err)
					}
					if f.Op == wstest.OpClose {
						if f.CloseCode() != bad.code {
							t.Errorf("%s: closed with %d, wanted %d", bad.name, f.CloseCode(), bad.code)
						}
						w.tellsNothing(bad.name, f.CloseReason())
						break
					}
				}
				p.ReadEOF()
				_ = p.NC.Close()
			}
			k.id = c.calls
			k.ends(bad.name, bad.ending)
		}
	})
}

// ends fails unless the call ends as it should; one that is asked again is answered
// then.
func (k *call) ends(name string, as ending) {
	t := k.c.w.t
	t.Helper()
	if as == askedAgain {
		k.answer(k.c.ask())
		k.hears()
		return
	}
	body, err := readBody(k)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	part := map[ending]string{answered: `"text":"frames 0"`, notServed: `"reason":"not-served"`, tooBig: `"reason":"too-big"`}[as]
	if !strings.Contains(body, part) || !strings.Contains(body, fmt.Sprintf(`"id":%d`, k.id)) {
		t.Errorf("%s: the caller was told %s, wanted %s", name, body, part)
	}
	k.c.w.tellsNothing(name, body)
}

// TestManyPingsAreNotQueued has a server ping and read nothing: only the newest
// ping that could not be answered yet is.
func TestManyPingsAreNotQueued(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("pings")
		defer c.leave()
		k := c.call()
		p := c.open(c.ask())
		pings := bytes.Repeat(whole(wstest.OpPing, make([]byte, 125)), 1000)
		tried.Add(1)
		for range 100 { // 13 MB
			p.Raw(pings)
		}
		p.BinaryAndClose(k.result())
		pongs := 0
		for {
			f, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.Op == wstest.OpPong {
				pongs++
			}
		}
		if pongs == 0 || pongs > 100_000 {
			t.Errorf("%d pongs", pongs)
		}
		_ = p.NC.Close()
		k.hears()
	})
}

// TestAnnouncedLengthsTakeNoMemory has paths announce 64 MiB each, and send a little.
func TestAnnouncedLengthsTakeNoMemory(t *testing.T) {
	const paths, sent = 200, 10_000
	w := begin(t)
	w.survives(func() {
		c := w.container("lengths")
		defer c.leave()
		before := w.metric("go_memstats_heap_inuse_bytes")
		var calls []*call
		var peers []*wstest.Peer
		for range paths {
			tried.Add(1)
			k := c.call()
			p := c.open(c.ask())
			p.Raw(append(wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true}, 64<<20), make([]byte, sent)...))
			calls, peers = append(calls, k), append(peers, p)
		}
		if grown := w.metric("go_memstats_heap_inuse_bytes") - before; grown > 64<<20 {
			t.Errorf("%d paths that announced 64 MiB, and sent %d bytes, took %d MiB", paths, sent, grown>>20)
		}
		for i, k := range calls {
			_ = k.conn.Close()
			peers[i].Reset()
		}
	})
}
