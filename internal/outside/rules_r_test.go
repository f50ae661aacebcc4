package outside

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

func TestR1_AnAskIsChannelKindPayload(t *testing.T) {
	w := begin(t, withFirstChannel(258))
	p := w.provider("default")
	w.callTool(`{"name":"t"}`)
	for _, want := range []string{"\x00\x00\x01\x02\x02" + `{"name":"t"}`, "\x00\x00\x01\x03\x04"} {
		if got := p.requests.ReadBinary(); string(got) != want {
			t.Errorf("ask %q, wanted %q", got, want)
		}
	}
}

func TestR2_ChannelsAscendAndWrapToOne(t *testing.T) {
	w := begin(t, withFirstChannel(math.MaxUint32-1))
	p := w.provider("default")
	for _, want := range []uint32{math.MaxUint32 - 1, math.MaxUint32, 1, 2} { // the second is the notifications ask
		if want != math.MaxUint32 {
			w.callTool(toolAsk)
		}
		if got := p.hear().Channel; got != want {
			t.Errorf("channel %d, wanted %d", got, want)
		}
	}
}

func TestR3_EveryKindIsAnsweredOnItsPath(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for kind, body := range bodies {
			c := w.ask("default", kind, `{"name":"t","uri":"u"}`)
			ask := p.call()
			if ask.Kind != kind {
				t.Fatalf("asked %v, wanted %v", ask.Kind, kind)
			}
			p.answer(ask, result(body))
			c.answered(body)
		}
		if ask := p.notifications(); ask.Kind != codec.Notifications {
			t.Errorf("%v", ask)
		}
	})
}

func TestR4_ThePayloadArrivesByteForByte(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for _, payload := range []string{"null", "{}", `{ "name" : "t" , "id":9007199254740993 }`} {
			w.ask("default", codec.ListTools, payload)
			if got := p.call(); string(got.Payload) != payload {
				t.Errorf("payload %q, wanted %q", got.Payload, payload)
			}
		}
	})
}

func TestR5_ASecondConnectionIsRefusedWhileOneIsOpen(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for range 3 {
			if got := wstest.Refused(t, w.addr, "/requests"); got.Status != http.StatusConflict {
				t.Fatalf("%d", got.Status)
			}
		}
		w.provider("other").quiet()
		for range 50 { // it is free before our Close is on its way
			p.reconnect()
		}
		p.quiet()
	})
}

func TestR5_TheClaimIsFreeHoweverTheConnectionEnded(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		for name, end := range ends {
			p := w.provider("default")
			end(p.requests)
			eventually(t, name+" frees the claim", func() bool { return w.mux.Stats().Connected == 0 })
			p.connect()
			p.hangUp()
		}
	})
}

func TestR6_AMessageFromTheServerEndsTheConnectionWith1002(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		was := p.call()
		p.notifications()
		p.requests.Binary([]byte("hello"))
		p.requests.Binary(make([]byte, 100_000)) // must not turn our Close into a reset
		if code, _ := p.requests.ReadClose(); code != 1002 {
			t.Errorf("closed with %d", code)
		}
		// The old connection is still there, half closed; the claim is free.
		p.connect()
		ask := p.call()
		if ask.Channel == was.Channel {
			t.Error("the lost ask kept its channel")
		}
		p.answer(ask, result(toolAnswer))
		c.answered(toolAnswer)
	})
}

func TestR6_AFragmentedMessageFromTheServerToo(t *testing.T) {
	w := begin(t)
	p := w.provider("default")
	p.requests.Fragments(wstest.OpBinary, nil, nil)
	if code, _ := p.requests.ReadClose(); code != 1002 {
		t.Errorf("closed with %d", code)
	}
	p.connect()
}

func TestR7_LostAsksComeAgainInOrderUnderFreshChannels(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				container := strings.ReplaceAll(name, " ", "-")
				p := w.provider(container)
				var calls []*call
				var were []codec.Ask
				for i := range 5 {
					calls = append(calls, w.ask(container, codec.CallTool, fmt.Sprintf(`{"name":"%d"}`, i)))
					were = append(were, p.call())
				}
				connected := w.mux.Stats().Connected
				end(p.requests)
				eventually(t, "the end is seen", func() bool { return w.mux.Stats().Connected == connected-1 })
				for _, was := range were {
					if status := p.refused(was); status != http.StatusNotFound {
						t.Fatalf("a lost channel: %d", status)
					}
				}
				calls = append(calls, w.ask(container, codec.CallTool, `{"name":"5"}`))
				p.connect()
				if first := p.hear(); first.Kind != codec.Notifications {
					t.Errorf("notifications were not announced first (N1): %v", first)
				}
				for i, c := range calls {
					ask := p.hear()
					if want := fmt.Sprintf(`{"name":"%d"}`, i); string(ask.Payload) != want {
						t.Fatalf("asked %s, wanted %s", ask.Payload, want)
					}
					for _, was := range were {
						if ask.Channel == was.Channel {
							t.Fatalf("channel %d was used again", ask.Channel)
						}
					}
					p.answer(ask, result(toolAnswer))
					c.answered(toolAnswer)
				}
			})
		}
	})
}

func TestR7_AnAskWhoseCallerLeftIsNotAskedAgain(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		gone, stays := w.callTool(`{"name":"gone"}`), w.callTool(`{"name":"stays"}`)
		p.call()
		p.call()
		if !gone.ask.Leave() {
			t.Fatal("the caller was told")
		}
		p.reconnect()
		ask := p.call()
		if string(ask.Payload) != `{"name":"stays"}` {
			t.Errorf("asked %s", ask.Payload)
		}
		p.quiet()
		p.answer(ask, result(toolAnswer))
		stays.answered(toolAnswer)
	})
}

func TestR8_AnOpenPathLivesOnWhenRequestsEnds(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		for _, end := range ends {
			p := w.provider("default")
			c := w.callTool(toolAsk)
			answer := p.open(p.call())
			end(p.requests)
			eventually(t, "the end is seen", func() bool { return w.mux.Stats().Connected == 0 })
			p.dealtWith(answer)
			p.connect()
			if ask := p.hear(); ask.Kind != codec.Notifications {
				t.Errorf("an open ask was asked again: %v", ask)
			}
			p.quiet()
			answer.BinaryAndClose(result(toolAnswer))
			c.answered(toolAnswer)
			p.hangUp()
		}
	})
}

func TestR9_AsksWaitForTheFirstConnectionAndComeWithThe101(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		var calls []*call
		for i := range 10 {
			calls = append(calls, w.callTool(fmt.Sprintf(`{"name":"%d"}`, i)))
		}
		p := w.provider("default")
		if p.requests.Buffered() == 0 {
			t.Error("nothing came with the 101")
		}
		var asks []codec.Ask
		for range calls {
			asks = append(asks, p.call())
		}
		if writes, _, _ := w.held(t).(*watched).seen(); writes != 1 {
			t.Errorf("the 101 and %d asks came in %d writes", len(asks), writes)
		}
		for i, c := range calls {
			if want := fmt.Sprintf(`{"name":"%d"}`, i); string(asks[i].Payload) != want {
				t.Errorf("asked %s, wanted %s", asks[i].Payload, want)
			}
			p.answer(asks[i], result(toolAnswer))
			c.answered(toolAnswer)
		}
	}, withWatched(func() {}))
}

func TestR10_NeverAskedAgainOnceAnsweredOrNotServed(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		answered, unserved := w.callTool(toolAsk), w.callTool(toolAsk)
		p.answer(p.call(), result(toolAnswer))
		answered.answered(toolAnswer)
		p.open(p.call()).Close(1000)
		unserved.outcome(mux.NotServed)
		for range 3 {
			w.clock.advance(1 << 40)
			p.reconnect()
			if ask := p.hear(); ask.Kind != codec.Notifications {
				t.Errorf("asked again: %v", ask)
			}
			p.quiet()
		}
	})
}

// A server may hear an exchange twice, and may answer only one.
func TestR10_TheSecondTimeAnExchangeIsHeardCounts(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		was := p.call()
		p.reconnect()
		ask := p.call()
		if status := p.refused(was); status != http.StatusNotFound {
			t.Errorf("the first channel: %d", status)
		}
		p.answer(ask, result(toolAnswer))
		c.answered(toolAnswer)
	})
}

// ends are the ways in which a peer can end a connection.
var ends = map[string]func(*wstest.Peer){
	"close":             func(p *wstest.Peer) { p.Close(1000) },
	"bare close":        func(p *wstest.Peer) { p.Close(0) },
	"close and reset":   func(p *wstest.Peer) { p.CloseThenReset(1001) },
	"reset":             func(p *wstest.Peer) { p.Reset() },
	"end of the stream": func(p *wstest.Peer) { p.FIN() },
	"inside a frame": func(p *wstest.Peer) {
		p.Raw(binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, 500))
		p.FIN()
	},
	"unmasked frame": func(p *wstest.Peer) { p.Raw([]byte{0x81, 0}) },
}
