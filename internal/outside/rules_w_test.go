package outside

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

func TestW1_NoSubprotocolAndNoExtensionIsNegotiated(t *testing.T) {
	w := begin(t)
	p, response, err := wstest.Try(w.addr, "/requests",
		wstest.Header("Sec-WebSocket-Protocol", "mcp"), wstest.Header("Sec-WebSocket-Extensions", "permessage-deflate"))
	if err != nil || p == nil {
		t.Fatalf("refused: %+v %v", response, err)
	}
	defer p.NC.Close()
	for _, name := range []string{"Sec-Websocket-Protocol", "Sec-Websocket-Extensions"} {
		if got := response.Header.Values(name); len(got) != 0 {
			t.Errorf("%s was answered with %q", name, got)
		}
	}
}

func TestW2_FragmentsAreOneMessageAndOursIsOneFrame(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		payload := `{"name":"t","arguments":{"x":"` + strings.Repeat("x", 100_000) + `"}}`
		c := w.callTool(payload)
		ask := p.call() // which reads one whole frame
		if string(ask.Payload) != payload {
			t.Error("the payload did not arrive as it was")
		}
		answer := p.open(ask)
		message := result(toolAnswer)
		answer.Fragments(wstest.OpBinary, message[:1], nil, message[1:9], message[9:])
		answer.Close(1000)
		c.answered(toolAnswer)
	})
}

func TestW3_TextIsIgnoredOnEveryPath(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		p.requests.Text([]byte("hello"))
		p.requests.Fragments(wstest.OpText, []byte("\xff\xfe"), []byte("\xc3"))
		c := w.callTool(toolAsk)
		ask := p.call()
		notifications := p.open(p.notifications())
		notifications.Text([]byte("\x00{\"method\":\"no\"}"))
		notifications.Binary(notification("yes"))
		w.hears("default", `{"method":"yes"}`)
		answer := p.open(ask)
		answer.Text([]byte("\xff"))
		answer.Text(result(`{"content":["no"]}`))
		answer.Binary(result(toolAnswer))
		answer.Text(result(`{"content":["no"]}`))
		answer.Close(1000)
		c.answered(toolAnswer)
		if n := w.mux.Stats().ExtraMessages; n != 0 {
			t.Errorf("text was counted as %d messages", n)
		}
	})
}

func TestW3_OnlyTextThenCloseIsNotServed(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		answer.Text(result(toolAnswer))
		answer.Close(1000)
		c.outcome(mux.NotServed)
	})
}

func TestW4_PingIsAnsweredAndCarriesNoMeaning(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		p.requests.Ping([]byte("one"))
		if got := p.requests.ReadPong(); string(got) != "one" {
			t.Errorf("pong %q", got)
		}
		p.requests.Pong([]byte("unasked"))
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		answer.Ping(nil)
		if got := answer.ReadPong(); len(got) != 0 {
			t.Errorf("pong %q", got)
		}
		message := result(toolAnswer)
		answer.Send(wstest.Frame{Op: wstest.OpBinary, Payload: message[:3]},
			wstest.Frame{Fin: true, Op: wstest.OpPing, Payload: []byte("between")},
			wstest.Frame{Fin: true, Op: wstest.OpContinuation, Payload: message[3:]})
		if got := answer.ReadPong(); string(got) != "between" {
			t.Errorf("pong %q", got)
		}
		answer.Close(1000)
		c.answered(toolAnswer)
	})
}

func TestW4_AQuietSocketIsPingedAndAMissingPongEndsNothing(t *testing.T) {
	w := begin(t, withPing(10*time.Millisecond))
	p := w.provider("default")
	for range 3 {
		p.requests.ReadPing() // and never answered
	}
	c := w.callTool(toolAsk)
	var ask codec.Ask
	for ask.Kind != codec.CallTool {
		f := p.requests.Read()
		if f.Op == wstest.OpPing {
			continue
		}
		var err error
		if ask, err = codec.DecodeAsk(f.Payload); err != nil {
			t.Fatal(err)
		}
	}
	answer := p.open(ask)
	answer.ReadPing()
	answer.BinaryAndClose(result(toolAnswer))
	c.answered(toolAnswer)
}

func TestW5_NothingPrecedesTheFirstAskAndNothingTimesOut(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		p.quiet()
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		p.dealtWith(answer)
		w.clock.advance(365 * 24 * time.Hour)
		p.quiet()
		p.dealtWith(answer)
		c.untold()
		answer.BinaryAndClose(result(toolAnswer))
		c.answered(toolAnswer)
	})
}

// The socket must not keep the deadline of its handshake.
func TestW5_TheHandshakesDeadlineDoesNotOutliveIt(t *testing.T) {
	w := begin(t, withTimeout(20*time.Millisecond))
	p := w.provider("default")
	timer := time.NewTimer(60 * time.Millisecond)
	<-timer.C
	p.quiet()
}

func TestW6_CloseThenResetIsAClose(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for range 20 {
			c := w.callTool(toolAsk)
			answer := p.open(p.call())
			answer.Binary(result(toolAnswer))
			p.dealtWith(answer)
			answer.CloseThenReset(1000)
			c.answered(toolAnswer)
		}
	})
}

func TestW6_TheExchangeIsSettledBeforeCloseIsAnswered(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for range 50 {
			c := w.callTool(toolAsk)
			answer := p.open(p.call())
			answer.BinaryAndClose(result(toolAnswer))
			if code, _ := answer.ReadClose(); code != 1000 {
				t.Fatalf("our Close has status %d", code)
			}
			select {
			case <-c.settled:
			default:
				t.Fatal("Close was answered before the caller was told")
			}
			answer.ReadEOF()
		}
	})
}

func TestW6_ACloseBetweenFragmentsLosesTheMessage(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		answer.Send(wstest.Frame{Op: wstest.OpBinary, Payload: result(toolAnswer)})
		answer.Close(1000)
		c.outcome(mux.NotServed)
	})
}

func TestW6_AnInvalidCloseIsCleanAndAnsweredWith1002(t *testing.T) {
	for name, body := range map[string][]byte{"one byte": {3}, "1005": wstest.CloseBody(1005, ""), "999": wstest.CloseBody(999, "")} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, w *world) {
				p := w.provider("default")
				c := w.callTool(toolAsk)
				answer := p.open(p.call())
				answer.Binary(result(toolAnswer))
				answer.CloseBody(body)
				if code, _ := answer.ReadClose(); code != 1002 {
					t.Errorf("answered with %d", code)
				}
				c.answered(toolAnswer)
			})
		})
	}
}

func TestW6_AnyStatusOrNoneIsAClose(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for _, code := range []int{0, 1000, 1001, 1011, 3000, 4999} {
			c := w.callTool(toolAsk)
			answer := p.open(p.call())
			answer.Binary(result(toolAnswer))
			answer.Close(code)
			c.answered(toolAnswer)
			if got, _ := answer.ReadClose(); got != code {
				t.Errorf("Close %d was answered with %d", code, got)
			}
		}
	})
}

func TestW7_RefusalsAreHTTPBeforeTheUpgrade(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		answer := p.open(ask)
		for path, want := range map[string]int{"/requests": 409, path(ask.Kind, ask.Channel): 409, path(codec.ListTools, ask.Channel): 404, "/mcp": 404} {
			got := wstest.Refused(t, w.addr, path)
			if got.Status != want {
				t.Errorf("%s: %d, wanted %d", path, got.Status, want)
			}
			oneLineOfText(t, got)
		}
		answer.BinaryAndClose(result(toolAnswer))
		c.answered(toolAnswer)
	})
}

// Frames sent early must not turn the refusal into a reset.
func TestW7_ARefusalReachesAPeerThatSentFramesEarly(t *testing.T) {
	w := begin(t)
	early := bytes.Repeat(wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: make([]byte, 1000)}), 100)
	for i := range 20 {
		got := wstest.Refused(t, w.addr, fmt.Sprintf("/mcp/call-tool/%d", i), wstest.Early(early))
		if got.Status != http.StatusNotFound {
			t.Fatalf("%d", got.Status)
		}
	}
}

func TestW9_AMessageOverTheLimitIsClosedWith1009AndNeverAskedAgain(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		whole := func(answer *wstest.Peer) { answer.Binary(make([]byte, 1001)) }
		parts := func(answer *wstest.Peer) {
			answer.Fragments(wstest.OpBinary, make([]byte, 600), make([]byte, 401))
		}
		declared := func(answer *wstest.Peer) {
			answer.Raw(wstest.AppendHeader(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true}, 1<<40))
			answer.Raw(make([]byte, 4))
		}
		for _, send := range []func(*wstest.Peer){whole, parts, declared} {
			c := w.callTool(toolAsk)
			answer := p.open(p.call())
			send(answer)
			if code, _ := answer.ReadClose(); code != 1009 {
				t.Errorf("closed with %d", code)
			}
			if s := c.outcome(mux.TooBig); s.limit != 1000 {
				t.Errorf("the caller was told of a limit of %d", s.limit)
			}
			answer.Reset()
			p.quiet()
		}
		p.reconnect()
		if ask := p.hear(); ask.Kind != codec.Notifications {
			t.Errorf("asked again: %v", ask)
		}
		p.quiet()
	}, withMaxMessage(1000))
}

func TestW9_AMessageAtTheLimitIsTaken(t *testing.T) {
	w := begin(t, withMaxMessage(1000))
	p := w.provider("default")
	c := w.callTool(toolAsk)
	answer := p.open(p.call())
	body := `{"content":[],"fill":"` + strings.Repeat("x", 1000-1-24) + `"}`
	answer.BinaryAndClose(result(body))
	c.answered(body)
}
