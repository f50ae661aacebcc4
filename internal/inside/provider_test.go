package inside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// heard is one ask as the server side hears it.
type heard struct {
	channel uint32
	kind    codec.Kind
	payload []byte
}

// provider plays a container's server, on the mux and without sockets. Its
// methods are for one goroutine.
type provider struct {
	t         testing.TB
	mux       *mux.Mux
	container string
	claim     *mux.Claim
	asks      chan heard
	push      *mux.Path // the notifications path, once it was asked for
}

// unserved is an answer path's socket; it tells when it was closed cleanly.
type unserved chan struct{}

func (u unserved) CloseUnserved() { close(u) }

// Drained implements mux.Drainer: the mux hears of a notification as it is made.
func (u unserved) Drained() bool { return true }

func (w *world) provide(container string) *provider {
	w.t.Helper()
	p := &provider{t: w.t, mux: w.mux, container: container, asks: make(chan heard, 4096)}
	claim, err := w.mux.Claim(container)
	if err != nil {
		w.t.Fatal(err)
	}
	p.claim = claim
	claim.Attach(p)
	w.t.Cleanup(claim.Detach)
	return p
}

// Announce, Flush and Probe implement mux.Line.
func (p *provider) Announce(channel uint32, k codec.Kind, payload []byte) {
	p.asks <- heard{channel, k, bytes.Clone(payload)}
}
func (p *provider) Flush() {}
func (p *provider) Probe() {}

// next is the next ask of kinds 0 to 3. The notifications ask is opened on the way.
func (p *provider) next() heard {
	p.t.Helper()
	for {
		select {
		case a := <-p.asks:
			if a.kind != codec.Notifications {
				return a
			}
			p.push = p.open(a, nil)
		case <-time.After(patience):
			p.t.Fatal("no ask was announced")
		}
	}
}

func (p *provider) open(a heard, s unserved) *mux.Path {
	p.t.Helper()
	if s == nil {
		s = make(unserved)
	}
	path, err := p.mux.Open(p.container, a.kind, a.channel, s)
	if err != nil {
		p.t.Fatalf("opening the path of channel %d: %v", a.channel, err)
	}
	return path
}

// answer makes the whole exchange of one ask: open, one message, clean close.
func (p *provider) answer(a heard, frame []byte) {
	p.t.Helper()
	path := p.open(a, nil)
	path.Arrived()
	b := codec.GetFrame(len(frame)) // as a socket reads it
	defer b.Release()
	b.B = append(b.B, frame...)
	path.ClosedWith(b)
}

func (p *provider) result(a heard, result string) {
	p.t.Helper()
	p.answer(a, codec.AppendResult(nil, []byte(result)))
}

// notify pushes notifications that come together, as soon as the container's path
// for them is there.
func (p *provider) notify(raw ...string) {
	p.t.Helper()
	for p.push == nil {
		select {
		case a := <-p.asks:
			if a.kind != codec.Notifications {
				p.t.Fatalf("an ask of kind %v came before the notifications ask", a.kind)
			}
			p.push = p.open(a, nil)
		case <-time.After(patience):
			p.t.Fatal("the notifications ask was not announced")
		}
	}
	var frames [][]byte
	for _, one := range raw {
		frames = append(frames, codec.AppendResult(nil, []byte(one)))
	}
	p.push.Notification(frames...)
}

// echo answers every ask until the test ends: a call with its own arguments.
func (p *provider) echo() {
	done, ended := make(chan struct{}), make(chan struct{})
	p.t.Cleanup(func() { close(done); <-ended })
	go func() {
		defer close(ended)
		for {
			select {
			case a := <-p.asks:
				p.echoOne(a)
			case <-done:
				return
			}
		}
	}()
}

func (p *provider) echoOne(a heard) {
	switch a.kind {
	case codec.ListTools:
		p.result(a, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case codec.ListResources:
		p.result(a, `{"resources":[{"uri":"file:///a","name":"a"}]}`)
	case codec.ReadResource:
		p.result(a, `{"contents":[{"uri":"file:///a","text":"hello"}]}`)
	case codec.CallTool:
		text, err := json.Marshal(string(a.payload))
		if err != nil {
			p.t.Error(err)
		}
		p.result(a, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text))
	}
}

// exchange makes one exchange, so that the notifications ask is made (protocol N1).
func (p *provider) exchange(s *mcpSession) {
	p.t.Helper()
	reply := s.start(`{"jsonrpc":"2.0","id":"first","method":"tools/list"}`)
	p.result(p.next(), `{"tools":[]}`)
	reply.wait(200)
}
