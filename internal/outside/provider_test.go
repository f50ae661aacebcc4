package outside

import (
	"bytes"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// provider plays the provider's server for one container, by hand.
type provider struct {
	w        *world
	base     string
	requests *wstest.Peer
	resident []codec.Ask // the notifications asks heard so far
}

// provider connects to a container's /requests.
func (w *world) provider(container string, opts ...wstest.Option) *provider {
	w.t.Helper()
	p := &provider{w: w, base: base(container)}
	p.connect(opts...)
	return p
}

// base is what a server is configured with. The default container is addressed
// without a prefix, so that both forms are in use (protocol G2).
func base(container string) string {
	if container == defaultContainer {
		return ""
	}
	return "/containers/" + container
}

func (p *provider) connect(opts ...wstest.Option) {
	p.w.t.Helper()
	p.requests = wstest.Dial(p.w.t, p.w.addr, p.base+"/requests", opts...)
}

// reconnect closes the connection cleanly and opens the next one.
func (p *provider) reconnect() {
	p.w.t.Helper()
	p.hangUp()
	p.connect()
}

// hangUp closes the connection cleanly; asks that were on their way are passed over.
func (p *provider) hangUp() {
	p.w.t.Helper()
	p.requests.Close(1000)
	for p.requests.Read().Op != wstest.OpClose {
	}
	p.requests.ReadEOF()
}

// hear reads the next ask of any kind. A ping that comes first is passed over:
// a refused claim causes one (protocol R5).
func (p *provider) hear() codec.Ask {
	p.w.t.Helper()
	f := p.requests.Read()
	for f.Op == wstest.OpPing {
		f = p.requests.Read()
	}
	if f.Op != wstest.OpBinary || !f.Fin {
		p.w.t.Fatalf("wanted an ask, got %v with %q", f, f.Payload)
	}
	ask, err := codec.DecodeAsk(f.Payload)
	if err != nil {
		p.w.t.Fatalf("an ask cannot be decoded: %v", err)
	}
	if ask.Kind == codec.Notifications {
		p.resident = append(p.resident, ask)
	}
	return ask
}

// call reads the next ask of kinds 0 to 3.
func (p *provider) call() codec.Ask {
	p.w.t.Helper()
	for {
		if ask := p.hear(); ask.Kind != codec.Notifications {
			return ask
		}
	}
}

// notifications returns the notifications ask heard last, or reads up to it.
func (p *provider) notifications() codec.Ask {
	p.w.t.Helper()
	for len(p.resident) == 0 {
		p.hear()
	}
	return p.resident[len(p.resident)-1]
}

// quiet fails if an ask is on its way. What was sent before it was called is
// seen: a pong comes after it.
func (p *provider) quiet() {
	p.w.t.Helper()
	barrier(p.w, p.requests, func(f wstest.Frame) {
		p.w.t.Helper()
		if f.Op == wstest.OpPing {
			return
		}
		ask, err := codec.DecodeAsk(f.Payload)
		if err == nil && ask.Kind == codec.Notifications && len(p.resident) == 0 {
			p.resident = append(p.resident, ask)
			return
		}
		p.w.t.Fatalf("wanted quiet, got %v with %q", f, f.Payload)
	})
}

// barrier returns when everything sent on the socket before has been dealt
// with: the gateway reads in order, and answers pings in order.
func barrier(w *world, peer *wstest.Peer, other func(wstest.Frame)) {
	w.t.Helper()
	mark := []byte("barrier")
	peer.Ping(mark)
	for {
		f := peer.Read()
		if f.Op == wstest.OpPong && bytes.Equal(f.Payload, mark) {
			return
		}
		if other == nil {
			w.t.Fatalf("wanted nothing, got %v with %q", f, f.Payload)
		}
		other(f)
	}
}

// dealtWith is a barrier on an answer path, where we send no message (protocol A9).
func (p *provider) dealtWith(answer *wstest.Peer) {
	p.w.t.Helper()
	barrier(p.w, answer, nil)
}

// open opens the answer path of an ask.
func (p *provider) open(ask codec.Ask, opts ...wstest.Option) *wstest.Peer {
	p.w.t.Helper()
	return wstest.Dial(p.w.t, p.w.addr, p.base+path(ask.Kind, ask.Channel), opts...)
}

// refused expects the path of an ask to be refused, and returns the status.
func (p *provider) refused(ask codec.Ask) int {
	p.w.t.Helper()
	return wstest.Refused(p.w.t, p.w.addr, p.base+path(ask.Kind, ask.Channel)).Status
}

// answer answers an ask and sees the closing handshake through.
func (p *provider) answer(ask codec.Ask, message []byte) {
	p.w.t.Helper()
	peer := p.open(ask)
	peer.BinaryAndClose(message)
	peer.ReadClose()
	peer.ReadEOF()
}

// again has an ask whose path just broke asked again, in the way of the world's
// mode: when its time has passed, at once, or on the next connection. It is the
// nth time on this connection, from 0.
func (p *provider) again(was codec.Ask, nth int) codec.Ask {
	p.w.t.Helper()
	p.w.brokenPathsAreSeen()
	switch {
	case p.w.reask < 0:
		p.quiet()
		p.reconnect()
	case p.w.reask > 0:
		eventually(p.w.t, "a timer is armed", func() bool { return p.w.clock.armed() > 0 })
		p.quiet()
		wait := p.w.reask << nth
		p.w.clock.advance(wait - 1)
		p.quiet()
		p.w.clock.advance(1)
	}
	var ask codec.Ask
	for ask = p.hear(); ask.Kind != was.Kind; {
		ask = p.hear()
	}
	if ask.Channel == was.Channel {
		p.w.t.Fatalf("asked again under the same channel %d", ask.Channel)
	}
	if !bytes.Equal(ask.Payload, was.Payload) {
		p.w.t.Fatalf("asked again with %q, was %q", ask.Payload, was.Payload)
	}
	return ask
}

// brokenPathsAreSeen waits until no answer path of kinds 0 to 3 is open.
func (w *world) brokenPathsAreSeen() {
	w.t.Helper()
	eventually(w.t, "the path's end is seen", func() bool { return w.mux.Stats().Open == 0 })
}

const (
	toolAsk    = `{"name":"t"}`
	toolAnswer = `{"content":[{"type":"text","text":"done"}]}`
)

// result is the answer message of a result, failure that of an error.
func result(body string) []byte  { return codec.AppendResult(nil, []byte(body)) }
func failure(body string) []byte { return codec.AppendError(nil, []byte(body)) }

// bodies are a good answer for each kind that has exactly one.
var bodies = map[codec.Kind]string{
	codec.ListTools:     `{"tools":[]}`,
	codec.ListResources: `{"resources":[]}`,
	codec.CallTool:      toolAnswer,
	codec.ReadResource:  `{"contents":[]}`,
}

var _ mux.Caller = (*call)(nil)
