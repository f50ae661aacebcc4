package ops

import (
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

func TestEveryMetricStandsAtZeroFromTheFirstScrape(t *testing.T) {
	for name, f := range families(t, observed()) {
		if !strings.HasPrefix(name, "gateway_") || name == "gateway_build_info" || name == "gateway_limit" {
			continue
		}
		for _, m := range f.GetMetric() {
			if n := number(m); n != 0 {
				t.Errorf("%s%v is %g", name, m.GetLabel(), n)
			}
		}
	}
}

func TestEveryLabelValueIsThereFromTheFirstScrape(t *testing.T) {
	o := observed()
	for k := range codec.Kind(codec.KindCount) {
		if k.Many() {
			continue
		}
		value(t, o, "gateway_exchange_seconds", "kind", k.Name())
		for outcome := range mux.Outcome(mux.OutcomeCount) {
			value(t, o, "gateway_exchanges_total", "kind", k.Name(), "outcome", outcome.String())
		}
	}
	for reason := range mux.Reason(mux.ReasonCount) {
		value(t, o, "gateway_asks_reasked_total", "reason", reason.String())
	}
	for _, state := range []string{"announced", "open"} {
		value(t, o, "gateway_asks_in_flight", "state", state)
	}
	for _, path := range []string{"requests", "call-tool", "notifications", other} {
		value(t, o, "gateway_sockets_open", "path", path)
		value(t, o, "gateway_sockets_opened_total", "path", path)
	}
	for listener, reasons := range map[string][]string{
		"outside": {"claimed", "unknown-path", other}, "inside": {"origin", other}, "ops": {"unknown-path", "method", other}, other: {other},
	} {
		for _, reason := range reasons {
			value(t, o, "gateway_refusals_total", "listener", listener, "reason", reason)
		}
	}
	for _, where := range []string{"outside", "ops", other} {
		value(t, o, "gateway_panics_total", "where", where)
	}
	for _, reason := range []string{"no-stream", other} {
		value(t, o, "gateway_notifications_unheard_total", "reason", reason)
	}
	value(t, o, "gateway_build_info", "version", "v1.2.3", "revision", "abc")
}

func TestWhatIsObservedIsCounted(t *testing.T) {
	o := observed()
	o.Exchange(codec.CallTool, "answered", 30*time.Millisecond)
	o.Refused("outside", "claimed")
	o.SocketOpened("call-tool")
	o.SocketOpened("call-tool")
	o.SocketClosed("call-tool")
	o.Unheard("no-stream")
	o.Panicked("outside")
	for _, want := range []struct {
		n      float64
		metric string
		labels []string
	}{
		{1, "gateway_exchange_seconds", []string{"kind", "call-tool"}},
		{1, "gateway_refusals_total", []string{"listener", "outside", "reason", "claimed"}},
		{1, "gateway_sockets_open", []string{"path", "call-tool"}},
		{2, "gateway_sockets_opened_total", []string{"path", "call-tool"}},
		{1, "gateway_notifications_unheard_total", []string{"reason", "no-stream"}},
		{1, "gateway_panics_total", []string{"where", "outside"}},
	} {
		if got := value(t, o, want.metric, want.labels...); got != want.n {
			t.Errorf("%s%q = %g, want %g", want.metric, want.labels, got, want.n)
		}
	}
}

func TestWhatIsInNoClosedSetIsCountedAsOther(t *testing.T) {
	o := observed()
	o.Refused("outside", "whim")
	o.Refused("elsewhere", "claimed")
	o.SocketOpened("tunnel")
	o.Panicked("nowhere")
	o.Unheard("deaf")
	for metric, labels := range map[string][]string{
		"gateway_sockets_open":                {"path", other},
		"gateway_panics_total":                {"where", other},
		"gateway_notifications_unheard_total": {"reason", other},
	} {
		if got := value(t, o, metric, labels...); got != 1 {
			t.Errorf("%s%q = %g, want 1", metric, labels, got)
		}
	}
	if got := value(t, o, "gateway_refusals_total", "listener", "outside", "reason", other); got != 1 {
		t.Errorf("a known listener's unknown reason was counted %g times", got)
	}
	if got := value(t, o, "gateway_refusals_total", "listener", other, "reason", other); got != 1 {
		t.Errorf("an unknown listener was counted %g times", got)
	}
	o.SocketClosed("tunnel")
	if got := value(t, o, "gateway_sockets_open", "path", other); got != 0 {
		t.Errorf("gauge of unknown paths is %g after the last one closed", got)
	}
}

// caller is never told anything in these tests.
type caller struct{}

func (caller) Settle(mux.Settlement) {}

func TestTheMuxIsReadAtEachScrape(t *testing.T) {
	m := mux.New(mux.Config{})
	o := New(Config{Mux: m.Stats})
	m.Container("a").Ask(codec.ListTools, []byte("null"), caller{})
	left := m.Container("b").Ask(codec.CallTool, []byte("{}"), caller{})
	if !left.Leave() {
		t.Fatal("a waiting ask cannot be left")
	}
	for _, want := range []struct {
		n      float64
		metric string
		labels []string
	}{
		{2, "gateway_containers", nil},
		{1, "gateway_asks_waiting", nil},
		{1, "gateway_exchanges_total", []string{"kind", "call-tool", "outcome", "left"}},
	} {
		if got := value(t, o, want.metric, want.labels...); got != want.n {
			t.Errorf("%s%q = %g, want %g", want.metric, want.labels, got, want.n)
		}
	}
}
