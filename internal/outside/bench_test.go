//go:build linux

package outside

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// exchanger makes one exchange after another of the default container.
type exchanger struct {
	to                      *unix.SockaddrInet4
	container               *mux.Container
	requests, notifications bare
	told                    told
	payload                 []byte
	answer                  []byte // the frames of one
	frame                   []byte // room for an ask
	request                 []byte // room for an upgrade request
}

func newExchanger(t testing.TB) *exchanger {
	m := mux.New(mux.Config{})
	e := &exchanger{to: serveBare(t, m), container: m.Container(defaultContainer), told: make(told, 1), payload: []byte(toolAsk)}
	e.requests = dialBare(t, e.to, "/requests")
	e.notifications = exchange(t, m, e.to, defaultContainer, e.requests)
	e.answer = wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: result(toolAnswer)})
	e.answer = wstest.AppendFrame(e.answer, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: true, Payload: wstest.CloseBody(1000, "")})
	e.frame = make([]byte, 2+codec.AskHeaderSize+len(e.payload))
	t.Cleanup(func() {
		e.requests.close()
		e.notifications.close()
	})
	return e
}

func (e *exchanger) once(t testing.TB) {
	e.container.Ask(codec.CallTool, e.payload, e.told)
	e.requests.readInto(t, e.frame)
	ask, err := codec.DecodeAsk(e.frame[2:])
	if err != nil {
		t.Fatal(err)
	}
	e.request = append(e.request[:0], "GET "...)
	e.request = codec.AppendPath(e.request, ask.Kind, ask.Channel)
	e.request = append(e.request, " HTTP/1.1\r\n"+upgradeHeaders+"\r\n"...)
	answer := connectBare(t, e.to)
	answer.upgrade(t, e.request)
	answer.write(t, e.answer)
	if o := <-e.told; o != mux.Answered {
		t.Fatal(o)
	}
	answer.close()
}

// BenchmarkExchange is one exchange as this half of the gateway sees it: an ask
// on /requests, and the path, message and Close that answer it.
func BenchmarkExchange(b *testing.B) {
	e := newExchanger(b)
	b.ReportAllocs()
	for b.Loop() {
		e.once(b)
	}
}
