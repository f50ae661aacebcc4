//go:build linux

package outside

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// exchanger makes one exchange after another of a container.
type exchanger struct {
	to                      *unix.SockaddrInet4
	base                    string
	container               *mux.Container
	requests, notifications bare
	told                    told
	payload                 []byte
	answer                  []byte // the frames of one
	frame                   []byte // room for an ask
	request                 []byte // room for an upgrade request
}

// anAnswer is what a server sends on an answer path.
func anAnswer() []byte {
	b := wstest.AppendFrame(nil, wstest.Frame{Fin: true, Op: wstest.OpBinary, Masked: true, Payload: result(toolAnswer)})
	return wstest.AppendFrame(b, wstest.Frame{Fin: true, Op: wstest.OpClose, Masked: true, Payload: wstest.CloseBody(1000, "")})
}

func newExchanger(t testing.TB, m *mux.Mux, to *unix.SockaddrInet4, id string) *exchanger {
	e := &exchanger{to: to, base: base(id), container: there(m.Container(id)), told: make(told, 1), payload: []byte(toolAsk), answer: anAnswer()}
	e.requests = dialBare(t, e.to, e.base+"/requests")
	e.notifications = exchange(t, m, e.to, id, e.requests)
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
	e.request = append(append(e.request[:0], "GET "...), e.base...)
	e.request = codec.AppendPath(e.request, ask.Kind, ask.Channel)
	e.request = append(e.request, " HTTP/1.1\r\n"+upgradeHeaders+"\r\n"...)
	answer := connectBare(t, e.to)
	answer.upgrade(t, e.request)
	answer.write(t, e.answer)
	answer.readClosed(t)
	if o := <-e.told; o != mux.Answered {
		t.Fatal(o)
	}
	answer.close()
}

// caller makes an exchange.
type caller interface{ once(t testing.TB) }

// BenchmarkExchange is one exchange as this half of the gateway sees it: an ask
// on /requests, and the path, message and Close that answer it. Beside it the
// same on a floor.
func BenchmarkExchange(b *testing.B) {
	for _, callers := range []int{1, 16} {
		for _, side := range []struct {
			name string
			make func(b *testing.B, n int) []caller
		}{{"floor", floorCallers}, {"gateway", gatewayCallers}} {
			b.Run(fmt.Sprintf("%s/callers=%d", side.name, callers), func(b *testing.B) {
				all := side.make(b, callers)
				b.ReportAllocs()
				b.ResetTimer()
				exchangeAll(b, all, b.N)
			})
		}
	}
}

// BenchmarkOfFloor takes turns between the two, so that what else the machine
// does slows both, and reports the gateway's rate as a share of the floor's. Its
// time is that of one exchange on each.
func BenchmarkOfFloor(b *testing.B) {
	const turn = 500
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			sides := [2][]caller{floorCallers(b, callers), gatewayCallers(b, callers)}
			var spent [2]time.Duration
			b.ResetTimer()
			for left := b.N; left > 0; left -= turn {
				for i, all := range sides {
					began := time.Now()
					exchangeAll(b, all, min(left, turn))
					spent[i] += time.Since(began)
				}
			}
			b.ReportMetric(spent[0].Seconds()/spent[1].Seconds(), "of-floor")
		})
	}
}

func floorCallers(b *testing.B, n int) (all []caller) {
	f, to := serveFloor(b, n)
	for i := range n {
		all = append(all, f.caller(b, to, i, anAnswer()))
	}
	return all
}

func gatewayCallers(b *testing.B, n int) (all []caller) {
	m := mux.New(mux.Config{})
	to := serveBare(b, m)
	for i := range n {
		all = append(all, newExchanger(b, m, to, fmt.Sprint("c", i)))
	}
	return all
}

// exchangeAll has the callers make n exchanges between them.
func exchangeAll(b *testing.B, callers []caller, n int) {
	var turn atomic.Int64
	var ended sync.WaitGroup
	for _, c := range callers {
		ended.Go(func() {
			for turn.Add(1) <= int64(n) {
				c.once(b)
			}
		})
	}
	ended.Wait()
}
