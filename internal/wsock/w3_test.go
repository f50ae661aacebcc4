package wsock

import (
	"bytes"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func TestW3_TextIsIgnored(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		cfg.MaxMessage = 1 << 10
		_, p, r := served(t, cfg)
		p.Text(nil)
		p.Text([]byte("hello"))
		p.Text([]byte{0xff, 0xfe, 0xc0})
		p.Text(bytes.Repeat([]byte("x"), 3<<20)) // over the limit, which is for messages
		p.Fragments(wstest.OpText, []byte("a"), bytes.Repeat([]byte("b"), 1<<20), []byte{0xff})
		p.Send(wstest.Frame{Op: wstest.OpText, Payload: []byte("a")},
			wstest.Frame{Fin: true, Op: wstest.OpPing, Payload: []byte("between")},
			wstest.Frame{Fin: true, Op: wstest.OpContinuation, Payload: []byte("b")})
		same(t, p.ReadPong(), []byte("between"))
		p.Binary([]byte("heard"))
		same(t, r.message(t), []byte("heard"))
	})
}

func TestW3_TextIsNotHeld(t *testing.T) {
	in := incoming{client: true}
	header := wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpText}, 1<<62)
	chunk := make([]byte, 4096)
	in.next(header, 0)
	allocs := testing.AllocsPerRun(1000, func() {
		if _, _, ev, bad := in.next(chunk, 0); ev != evNone || bad != nil {
			t.Fatal("text was not skipped")
		}
	})
	if allocs != 0 || in.message != nil || in.control != nil {
		t.Fatalf("%v allocations per chunk of text, message %v", allocs, in.message)
	}
}
