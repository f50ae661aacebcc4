package wsock

import (
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// textRecorder is a TextHandler that keeps text apart.
type textRecorder struct {
	*recorder
	texts chan []byte
	judge func(b []byte) *Violation // may be nil
}

func (r *textRecorder) Text(b *codec.Buffer) *Violation {
	defer b.Release()
	r.texts <- append([]byte(nil), b.B...)
	if r.judge != nil {
		return r.judge(b.B)
	}
	return nil
}

func hearingText(t testing.TB, cfg *Config, judge func(b []byte) *Violation) (*Conn, *wstest.Peer, *textRecorder) {
	t.Helper()
	c, p := pair(t, cfg)
	r := &textRecorder{recorder: newRecorder(), texts: make(chan []byte, 16), judge: judge}
	c.Serve(r)
	return c, p, r
}

func TestATextHandlerHearsTextAndItStaysText(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		c, p, r := hearingText(t, cfg, nil)
		p.Text([]byte("one"))
		same(t, wait(t, "text", r.texts), []byte("one"))
		p.Text(nil)
		same(t, wait(t, "text", r.texts), nil)
		p.Text(pattern(3 << 20)) // not even UTF-8: that is the handler's business
		same(t, wait(t, "text", r.texts), pattern(3<<20))
		p.Fragments(wstest.OpText, []byte("a"), nil, pattern(1<<16), []byte("z"))
		same(t, wait(t, "text", r.texts), append(append([]byte("a"), pattern(1<<16)...), 'z'))
		p.Send(wstest.Frame{Op: wstest.OpText, Payload: []byte("a")},
			wstest.Frame{Fin: true, Op: wstest.OpPing, Payload: []byte("between")},
			wstest.Frame{Fin: true, Op: wstest.OpContinuation, Payload: []byte("b")})
		same(t, p.ReadPong(), []byte("between"))
		same(t, wait(t, "text", r.texts), []byte("ab"))
		p.Binary([]byte("two"))
		same(t, r.message(t), []byte("two"))

		c.AppendText([]byte("three"))
		c.Append([]byte("fo"), []byte("ur"))
		c.Flush()
		if f := p.Read(); f.Op != wstest.OpText || !f.Fin || string(f.Payload) != "three" {
			t.Errorf("text went out as %+v", f)
		}
		same(t, p.ReadBinary(), []byte("four"))
		p.Close(1000)
		r.clean(t, 1000)
	})
}

func TestTextThatIsHeardHasTheLimitOfMessages(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		cfg.MaxMessage = 1000
		for name, send := range map[string]func(p *wstest.Peer){
			"one frame": func(p *wstest.Peer) { p.Text(pattern(1001)) },
			"fragments": func(p *wstest.Peer) { p.Fragments(wstest.OpText, pattern(500), pattern(501)) },
		} {
			t.Run(name, func(t *testing.T) {
				_, p, r := hearingText(t, cfg, nil)
				send(p)
				if e := r.abrupt(t, 1009); !e.TooBig {
					t.Fatalf("ended with %+v", e)
				}
				if code, _ := p.ReadClose(); code != 1009 {
					t.Fatalf("closed with %d", code)
				}
			})
		}
	})
}

func TestAViolationOfTextIsClosedWithItsCode(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		_, p, r := hearingText(t, cfg, func([]byte) *Violation { return &Violation{Code: 1007, Reason: "no"} })
		p.Text([]byte{0xff})
		p.Text([]byte("never heard"))
		same(t, wait(t, "text", r.texts), []byte{0xff})
		r.abrupt(t, 1007)
		if code, reason := p.ReadClose(); code != 1007 || reason != "no" {
			t.Fatalf("closed with %d %q", code, reason)
		}
		p.ReadEOF()
		if n := len(r.texts); n != 0 {
			t.Errorf("%d messages after the violation", n)
		}
	})
}
