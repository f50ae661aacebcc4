package outside

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// notification is a kind-4 message that says only its method.
func notification(method string) []byte { return result(`{"method":"` + method + `"}`) }

func TestN1_AskedRightAfterTheFirstExchangeAndFirstLater(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		for range 2 {
			p := w.provider("default")
			p.quiet() // without an exchange nothing is asked
			p.hangUp()
		}
		for i := range 3 {
			w.callTool(fmt.Sprintf(`{"name":"%d"}`, i))
		}
		p := w.provider("default")
		for i, want := range []codec.Kind{codec.CallTool, codec.Notifications, codec.CallTool, codec.CallTool} {
			if got := p.hear(); got.Kind != want {
				t.Fatalf("ask %d: %v, wanted %v", i, got.Kind, want)
			}
		}
		p.reconnect()
		for i, want := range []codec.Kind{codec.Notifications, codec.CallTool, codec.CallTool, codec.CallTool} {
			if got := p.hear(); got.Kind != want {
				t.Fatalf("ask %d of the next connection: %v, wanted %v", i, got.Kind, want)
			}
		}
	})
}

func TestN1_AWithdrawnAskWasNotMade(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		w.callTool(toolAsk).ask.Leave()
		p := w.provider("default")
		p.quiet()
		if len(p.resident) != 0 {
			t.Error("notifications were asked for")
		}
	})
}

func TestN2_OneAskIsKeptForTheContainersLife(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		for range 5 {
			c := w.callTool(toolAsk)
			p.answer(p.call(), result(toolAnswer))
			c.answered(toolAnswer)
		}
		p.notifications()
		p.quiet()
		if len(p.resident) != 1 {
			t.Errorf("%d notifications asks", len(p.resident))
		}
		open := p.open(p.notifications())
		p.reconnect() // which an open path survives (R8)
		p.quiet()
		open.Binary(notification("still here"))
		w.hears("default", `{"method":"still here"}`)
		if len(p.resident) != 1 {
			t.Errorf("%d notifications asks", len(p.resident))
		}
	})
}

func TestN3_OneMessagePerNotificationForThePathsLife(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p, path := w.listening("default")
		if len(p.notifications().Payload) != 0 {
			t.Errorf("payload %q", p.notifications().Payload)
		}
		for i := range 100 {
			path.Binary(notification(fmt.Sprint(i)))
		}
		path.Fragments(wstest.OpBinary, notification("100")[:5], notification("100")[5:])
		for i := range 101 {
			w.hears("default", fmt.Sprintf(`{"method":"%d"}`, i))
		}
	})
}

func TestN3_AnErrorIsTheLastMessageWhateverFollows(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, w *world) {
				p, path := w.listening("default")
				path.Binary(notification("first"))
				path.Binary(failure(`{"code":-32000,"message":"over"}`))
				p.dealtWith(path) // what comes together with the error is another test's
				path.Binary(notification("too late"))
				w.hears("default", `{"method":"first"}`)
				p.dealtWith(path)
				if status := p.refused(p.notifications()); status != http.StatusNotFound {
					t.Errorf("the channel is not finished: %d", status)
				}
				end(path)
				w.eventuallyClosed("notifications")
				w.clock.advance(1 << 40)
				p.quiet() // nothing is asked on this connection
				w.hearsNothing("default")
				p.reconnect()
				if ask := p.hear(); ask.Kind != codec.Notifications {
					t.Errorf("%v", ask)
				}
			})
		})
	}
}

func TestN4_ACleanEndIsAskedForOnTheNextConnection(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p, path := w.listening("default")
		path.CloseThenReset(1000)
		w.eventuallyClosed("notifications")
		w.clock.advance(1 << 40)
		p.quiet()
		p.reconnect()
		p.resident = nil
		again := p.open(p.notifications())
		again.Binary(notification("again"))
		w.hears("default", `{"method":"again"}`)
	})
}

func TestN4_AnAbruptEndIsAskedForAsAnExchangeIs(t *testing.T) {
	for name, end := range abrupt {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, w *world) {
				p, path := w.listening("default")
				path.Binary(notification("first"))
				w.hears("default", `{"method":"first"}`)
				end(path)
				w.eventuallyClosed("notifications")
				again := p.open(p.again(p.notifications(), 0))
				again.Binary(notification("again"))
				w.hears("default", `{"method":"again"}`)
			})
		})
	}
}

func TestN4_BreaksFarApartAreEachTheFirst(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p, path := w.listening("default")
		for i := range 6 { // more than protocol A5 allows on one connection
			w.clock.advance(30 * time.Second)
			path.Reset()
			w.eventuallyClosed("notifications")
			path = p.open(p.again(p.notifications(), 0))
			path.Binary(notification(fmt.Sprint(i)))
			w.hears("default", fmt.Sprintf(`{"method":"%d"}`, i))
		}
	})
}

func TestN4_AConnectionThatEndsBeforeThePathOpened(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		w.callTool(toolAsk)
		was := p.notifications()
		p.reconnect()
		if ask := p.hear(); ask.Kind != codec.Notifications || ask.Channel == was.Channel {
			t.Errorf("%v after %v", ask, was)
		}
		if status := p.refused(was); status != http.StatusNotFound {
			t.Errorf("the lost channel: %d", status)
		}
	})
}

func TestN5_NothingIsReplayed(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p, path := w.listening("default")
		path.Binary(notification("heard"))
		w.hears("default", `{"method":"heard"}`)
		path.Close(1000)
		w.eventuallyClosed("notifications")
		p.reconnect()
		p.resident = nil
		again := p.open(p.notifications())
		p.dealtWith(again)
		w.hearsNothing("default")
	})
}

func TestN6_AnUndecodableMessageIsDroppedAndTheStreamGoesOn(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		_, path := w.listening("default")
		bad := [][]byte{{}, {0}, {2, '{', '}'}, result("{"), result(`{"method":1}`), result(`{"method":"m","id":1}`), result(`{"method":"m","params":[]}`)}
		for _, message := range bad {
			path.Binary(message)
		}
		path.Binary(notification("good"))
		w.hears("default", `{"method":"good"}`)
		if n := w.mux.Stats().Undecodable; n != int64(len(bad)) {
			t.Errorf("%d were counted, wanted %d", n, len(bad))
		}
	})
}

func TestN6_AMessageThatBeginsWithOneIsTheLastEvenIfUnreadable(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p, path := w.listening("default")
		path.Binary([]byte{1, '{'})
		path.Binary(notification("too late"))
		p.dealtWith(path)
		if status := p.refused(p.notifications()); status != http.StatusNotFound {
			t.Errorf("the channel is not finished: %d", status)
		}
		w.hearsNothing("default")
	})
}

func TestW9_ANotificationOverTheLimitBreaksThePath(t *testing.T) {
	modes(t, func(t *testing.T, w *world) {
		p, path := w.listening("default")
		path.Binary(make([]byte, 1001))
		if code, _ := path.ReadClose(); code != 1009 {
			t.Errorf("closed with %d", code)
		}
		w.eventuallyClosed("notifications")
		p.open(p.again(p.notifications(), 0))
	}, withMaxMessage(1000))
}

// listening is a provider that holds the notifications path of its container,
// after a first exchange.
func (w *world) listening(container string) (*provider, *wstest.Peer) {
	w.t.Helper()
	p := w.provider(container)
	c := w.ask(container, codec.CallTool, toolAsk)
	p.answer(p.call(), result(toolAnswer))
	c.answered(toolAnswer)
	return p, p.open(p.notifications())
}

// eventuallyClosed waits until no socket of that path is open.
func (w *world) eventuallyClosed(path string) {
	w.t.Helper()
	eventually(w.t, "the "+path+" sockets are closed", func() bool { return w.counts.openNow(path) == 0 })
}
