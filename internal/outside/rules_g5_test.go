package outside

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

func TestR2_ALateOpeningOfAnOldChannelIs404AfterTheContainerWasForgotten(t *testing.T) {
	w := begin(t, func(s *setup) { s.mux.FirstChannel = nil })
	p := w.provider("c1")
	c := w.ask("c1", codec.CallTool, toolAsk)
	old := p.call()
	p.hangUp()
	eventually(t, "the connection's end is seen", func() bool { return w.mux.Stats().Connected == 0 })
	c.ask.Leave()
	w.idle()
	if w.mux.Lookup("c1") != nil {
		t.Fatal("not forgotten")
	}
	if got := p.refused(old); got != http.StatusNotFound {
		t.Errorf("%d, wanted 404", got)
	}
	p.lateOpeningMeetsNoAsk(old)
}

// TestR2_ALateOpeningOfAnOldChannelIs404AfterARestart has the server hold an
// answer while another process takes the gateway's place.
func TestR2_ALateOpeningOfAnOldChannelIs404AfterARestart(t *testing.T) {
	drawn := func(s *setup) { s.mux.FirstChannel = nil }
	before := begin(t, drawn)
	p := before.provider("c1")
	before.ask("c1", codec.CallTool, toolAsk)
	old := p.call()
	before.shutdown()

	after := begin(t, drawn)
	p.w = after
	if got := p.refused(old); got != http.StatusNotFound {
		t.Errorf("%d, wanted 404", got)
	}
	p.lateOpeningMeetsNoAsk(old)
}

// lateOpeningMeetsNoAsk opens a channel from before while asks of its kind wait
// in the same container.
func (p *provider) lateOpeningMeetsNoAsk(old codec.Ask) {
	p.w.t.Helper()
	p.connect()
	var calls []*call
	for range 20 {
		calls = append(calls, p.w.ask("c1", codec.CallTool, toolAsk))
	}
	for _, c := range calls {
		if got := p.refused(old); got != http.StatusNotFound {
			p.w.t.Fatalf("%d, wanted 404", got)
		}
		c.untold()
		p.answer(p.call(), result(toolAnswer))
		c.outcome(mux.Answered)
	}
}

// TestG5_AClaimThatRacesWithForgettingIsKept connects at the moment at which the
// container is forgotten, over and over.
func TestG5_AClaimThatRacesWithForgettingIsKept(t *testing.T) {
	w := begin(t)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				w.idle()
			}
		}
	}()
	defer func() { close(done); <-ended }()
	for i := range 200 {
		p := w.provider("c1")
		c := w.ask("c1", codec.CallTool, fmt.Sprintf(`{"name":"%d"}`, i))
		ask := p.call()
		if want := fmt.Sprintf(`{"name":"%d"}`, i); string(ask.Payload) != want {
			t.Fatalf("heard %s, wanted %s", ask.Payload, want)
		}
		p.answer(ask, result(toolAnswer))
		c.answered(toolAnswer)
		p.requests.Close(1000)
		for p.requests.Read().Op != wstest.OpClose {
		}
		p.requests.ReadEOF()
		p.resident = nil
	}
}
