package outside

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// abrupt are the ways in which an answer path ends without a Close.
var abrupt = map[string]func(*wstest.Peer){
	"reset":             func(p *wstest.Peer) { p.Reset() },
	"end of the stream": func(p *wstest.Peer) { p.FIN() },
	"inside a frame": func(p *wstest.Peer) {
		p.Raw([]byte{0x88, 0x82, 0, 0, 0, 0, 3}) // a Close that lacks its last byte
		p.FIN()
	},
	"unmasked close":  func(p *wstest.Peer) { p.Raw([]byte{0x88, 0}) },
	"reserved bit":    func(p *wstest.Peer) { p.Send(wstest.Frame{Fin: true, RSV: 4, Op: wstest.OpBinary}) },
	"reserved opcode": func(p *wstest.Peer) { p.Send(wstest.Frame{Fin: true, Op: 3}) },
	"a close of 126":  func(p *wstest.Peer) { p.CloseBody(make([]byte, 126)) },
}

func TestA1_APathOpensOnceForAChannelOfItsKind(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		for kind := range codec.Kind(codec.KindCount) {
			if kind == codec.CallTool {
				continue
			}
			if status := p.refused(codec.Ask{Kind: kind, Channel: ask.Channel}); status != http.StatusNotFound {
				t.Errorf("another kind, %v: %d", kind, status)
			}
		}
		for _, channel := range []uint32{ask.Channel - 1, ask.Channel + 100, 0} {
			if status := p.refused(codec.Ask{Kind: ask.Kind, Channel: channel}); status != http.StatusNotFound {
				t.Errorf("channel %d: %d", channel, status)
			}
		}
		answer := p.open(ask)
		if status := p.refused(ask); status != http.StatusConflict {
			t.Errorf("an open path: %d", status)
		}
		answer.BinaryAndClose(result(toolAnswer))
		answer.ReadClose()
		c.answered(toolAnswer)
		if status := p.refused(ask); status != http.StatusNotFound {
			t.Errorf("a finished path: %d", status)
		}
	})
}

func TestA3_AResultAndAnErrorReachTheCaller(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		p.answer(p.call(), failure(`{"code":-32601,"message":"no"}`))
		if s := c.wait(); s.outcome != mux.Answered || s.tag != codec.TagError || s.body != `{"code":-32601,"message":"no"}` {
			t.Errorf("%+v", s)
		}
	})
}

func TestA3_ALargeAnswerArrivesWhole(t *testing.T) {
	w := begin(t, withMaxMessage(16<<20))
	p := w.provider("default")
	body := `{"content":[{"type":"text","text":"` + strings.Repeat("0123456789", 500_000) + `"}]}`
	c := w.callTool(toolAsk)
	p.answer(p.call(), result(body))
	c.answered(body)
}

func TestA4_TheCallerIsToldOnlyAfterTheClose(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		answer.Binary(result(toolAnswer))
		p.dealtWith(answer)
		c.untold()
		answer.Close(1000)
		c.answered(toolAnswer)
	})
}

func TestA4_MessageThenAbruptEndIsAskedAgain(t *testing.T) {
	for name, end := range abrupt {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, w *world) {
				p := w.provider("default")
				c := w.callTool(toolAsk)
				ask := p.call()
				answer := p.open(ask)
				answer.Binary(result(`{"content":["discarded"]}`))
				p.dealtWith(answer)
				end(answer)
				again := p.again(ask, 0)
				c.untold()
				if status := p.refused(ask); status != http.StatusNotFound {
					t.Errorf("the old channel: %d", status)
				}
				p.answer(again, result(toolAnswer))
				c.answered(toolAnswer)
				if n := w.mux.Stats().DiscardedMessages; n != 1 {
					t.Errorf("%d discarded messages were counted", n)
				}
			})
		})
	}
}

func TestA5_AbruptEndWithoutAMessageIsAskedAgain(t *testing.T) {
	for name, end := range abrupt {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, w *world) {
				p := w.provider("default")
				c := w.callTool(toolAsk)
				ask := p.call()
				end(p.open(ask))
				again := p.again(ask, 0)
				p.answer(again, result(toolAnswer))
				c.answered(toolAnswer)
			})
		})
	}
}

func TestA5_AnUpgradeAbortedBeforeThe101WasReadIsAnAbruptEnd(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for range 20 {
			c := w.callTool(toolAsk)
			ask := p.call()
			nc := w.plain()
			fmt.Fprintf(nc, "GET %s HTTP/1.1\r\n%s\r\n", path(ask.Kind, ask.Channel), upgradeHeaders)
			reset(t, nc)
			// The reset may have eaten the request itself: then nothing was opened, and the
			// channel can still be.
			var peer *wstest.Peer
			eventually(t, "the aborted upgrade is over", func() bool {
				var response wstest.Response
				var err error
				if peer, response, err = wstest.Try(w.addr, path(ask.Kind, ask.Channel)); err != nil {
					t.Fatal(err)
				}
				return peer != nil || response.Status == http.StatusNotFound
			})
			if peer != nil {
				peer.BinaryAndClose(result(toolAnswer))
				c.answered(toolAnswer)
				peer.NC.Close()
				continue
			}
			again := p.again(ask, 0)
			p.answer(again, result(toolAnswer))
			c.answered(toolAnswer)
		}
	})
}

func TestA5_AfterThreeTimesItWaitsForTheNextConnection(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		times := 3
		if w.reask < 0 {
			times = 0
		}
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		for range 2 { // it counts anew on each connection
			for nth := range times {
				p.open(ask).Reset()
				ask = p.again(ask, nth)
			}
			p.open(ask).Reset()
			w.brokenPathsAreSeen()
			w.clock.advance(1 << 40)
			p.quiet()
			c.untold()
			p.reconnect()
			ask = p.call()
		}
		p.answer(ask, result(toolAnswer))
		c.answered(toolAnswer)
	})
}

func TestA5_WithoutAConnectionItIsAskedAgainOnTheNext(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		answer := p.open(ask)
		p.hangUp()
		answer.Reset()
		w.brokenPathsAreSeen()
		if n := w.clock.armed(); n != 0 {
			t.Errorf("%d timers without a connection", n)
		}
		p.connect()
		p.answer(p.call(), result(toolAnswer))
		c.answered(toolAnswer)
	})
}

func TestA6_CloseWithoutAMessageIsNotServed(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for _, code := range []int{0, 1000, 1011} {
			c := w.callTool(toolAsk)
			ask := p.call()
			answer := p.open(ask)
			answer.Close(code)
			c.outcome(mux.NotServed)
			answer.ReadClose()
			if status := p.refused(ask); status != http.StatusNotFound {
				t.Errorf("the channel afterwards: %d", status)
			}
		}
		c := w.callTool(toolAsk)
		p.open(p.call()).CloseThenReset(1000)
		c.outcome(mux.NotServed)
		p.quiet()
	})
}

func TestA6_ShutdownEndsAnswerPathsWithoutAClose(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer, notifications := p.open(p.call()), p.open(p.notifications())
		done := make(chan struct{})
		go func() { defer close(done); w.shutdown() }()
		if code, _ := p.requests.ReadClose(); code != 1001 {
			t.Errorf("/requests was closed with %d, wanted 1001", code)
		}
		p.requests.Close(1001)
		answer.ReadGone()
		notifications.ReadGone()
		<-done
		c.untold()
		w.mux.Stop()
		c.outcome(mux.Stopped)
	})
}

func TestA7_AnUnreadableAnswerIsAnAnswer(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for name, message := range map[string][]byte{
			"empty": {}, "unknown tag": {7, '{', '}'}, "no JSON": {0}, "bad JSON": result(`{"content":[}`),
			"bad UTF-8": result("{\"content\":[\"\xff\"]}"), "no array": result(`{"content":1}`), "bad error": failure(`{"code":"x"}`),
		} {
			c := w.callTool(toolAsk)
			p.answer(p.call(), message)
			if s := c.outcome(mux.Unreadable); s.err == nil {
				t.Errorf("%s: without a cause", name)
			} else if name == "empty" && !errors.Is(s.err, codec.ErrEmpty) {
				t.Errorf("%s: %v", name, s.err)
			}
			p.quiet()
		}
	})
}

func TestA7_UnreadableAndAbruptIsAskedAgain(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		answer := p.open(ask)
		answer.Binary([]byte{9, 9})
		p.dealtWith(answer)
		answer.Reset()
		p.answer(p.again(ask, 0), result(toolAnswer))
		c.answered(toolAnswer)
	})
}

func TestA8_FurtherMessagesAreIgnoredAndCounted(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		answer.Binary(result(toolAnswer))
		for range 3 {
			answer.Binary(result(`{"content":["no"]}`))
		}
		answer.Binary(bytes.Repeat([]byte("x"), 100_000))
		answer.Close(1000)
		c.answered(toolAnswer)
		if n := w.mux.Stats().ExtraMessages; n != 4 {
			t.Errorf("%d extra messages were counted", n)
		}
	})
}

func TestA9_NothingIsSentOnAnAnswerPath(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		w.callTool(toolAsk)
		p.call()
		answer.Binary(result(toolAnswer))
		p.dealtWith(answer)
		answer.Close(1000)
		answer.ReadClose()
		answer.ReadEOF()
		c.answered(toolAnswer)
	})
}

func TestA10_AnAskWithdrawnBeforeItWasAnnouncedIsNeverMade(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		if c := w.callTool(`{"name":"gone"}`); !c.ask.Leave() {
			t.Fatal("told already")
		}
		p := w.provider("default")
		p.quiet()
	})
}

func TestA10_TheAnswerToADepartedCallerIsDropped(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		c.ask.Leave()
		p.answer(ask, result(toolAnswer))
		c.untold()
		if n := w.mux.Stats().DroppedAnswers; n != 1 {
			t.Errorf("%d dropped answers were counted", n)
		}
		c = w.callTool(toolAsk)
		answer := p.open(p.call())
		c.ask.Leave()
		p.dealtWith(answer) // it is not closed: the caller left, and did not cancel
		answer.Reset()
		w.brokenPathsAreSeen()
		p.quiet()
		p.reconnect()
		if ask := p.hear(); ask.Kind != codec.Notifications {
			t.Errorf("asked again: %v", ask)
		}
		p.quiet()
	})
}

func TestA10_CancelClosesAnOpenPathThatBroughtNothing(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		if !c.ask.Cancel() {
			t.Fatal("told already")
		}
		if code, _ := answer.ReadClose(); code != 1000 {
			t.Errorf("closed with %d", code)
		}
		answer.Close(1000)
		answer.ReadEOF()
		w.brokenPathsAreSeen()
		p.quiet()
	})
}

func TestA10_CancelLeavesAPathThatBroughtItsMessage(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		answer := p.open(p.call())
		answer.Binary(result(toolAnswer))
		p.dealtWith(answer)
		c.ask.Cancel()
		p.dealtWith(answer)
		answer.Close(1000)
		answer.ReadClose()
		c.untold()
	})
}

func TestA10_APathOpenedForACancelledAskIsAcceptedAndClosed(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		ask := p.call()
		c.ask.Cancel()
		answer := p.open(ask)
		if code, _ := answer.ReadClose(); code != 1000 {
			t.Errorf("closed with %d", code)
		}
		answer.Close(1000)
		answer.ReadEOF()
		eventually(t, "the channel is finished", func() bool { return p.refused(ask) == http.StatusNotFound })
	})
}
