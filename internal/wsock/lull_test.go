package wsock

import (
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// gatherer has its messages and lulls written down in order, by one letter each.
type gatherer struct {
	*recorder
	log chan string
}

func (g *gatherer) Message(b *codec.Buffer) *Violation {
	g.log <- string(b.B)
	return g.recorder.Message(b)
}

func (g *gatherer) Lull() { g.log <- "." }

func (g *gatherer) Ended(e Ending) {
	g.log <- "!"
	g.recorder.Ended(e)
}

// heard is what was written down, without the lulls in which nothing had come.
func (g *gatherer) heard() (all string) {
	for len(g.log) > 0 {
		if one := <-g.log; one != "." || all != "" && all[len(all)-1] != '.' {
			all += one
		}
	}
	return all
}

func binaries(payloads ...string) (frames []wstest.Frame) {
	for _, p := range payloads {
		frames = append(frames, wstest.Frame{Fin: true, Op: wstest.OpBinary, Payload: []byte(p)})
	}
	return frames
}

func TestALullComesBehindTheMessagesOfOneReadAndBeforeEverythingElse(t *testing.T) {
	frame := func(op byte, payload string) wstest.Frame {
		return wstest.Frame{Fin: true, Op: op, Payload: []byte(payload)}
	}
	text, ping, end := frame(1, "text"), frame(wstest.OpPing, ""), wstest.Frame{Fin: true, Op: wstest.OpClose}
	for name, c := range map[string]struct {
		frames []wstest.Frame
		want   string
	}{
		"close":     {append(binaries("a", "b"), end), "ab.!"},
		"text":      {append(binaries("a"), text, binaries("b")[0], end), "ab.!"},
		"ping":      {append(binaries("a"), ping, binaries("b")[0], binaries("c")[0], end), "a.bc.!"},
		"violation": {append(binaries("a", "b"), frame(3, "")), "ab.!"},
		"refused":   {append(binaries("a", "x"), binaries("late")...), "ax.!"},
		"long":      {append(binaries("a", string(make([]byte, 20_000))), end), "a." + string(make([]byte, 20_000)) + ".!"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := sockets(t)
			g := &gatherer{newRecorder(), make(chan string, 100)}
			g.onMessage = func(b []byte) *Violation {
				if string(b) == "x" {
					return violation("x")
				}
				return nil
			}
			p := wstest.Wrap(t, theirs, true)
			p.Send(c.frames...)
			New(ours, nil, &Config{}).Serve(g)
			if name == "ping" {
				p.ReadPong()
			}
			p.ReadClose()
			wait(t, "the end", g.ended)
			if got := g.heard(); got != c.want {
				t.Errorf("heard %.40q, want %.40q", got, c.want)
			}
			p.NC.Close()
		})
	}
}
