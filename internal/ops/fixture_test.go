package ops

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/diverge-network/gateway/internal/reload"
	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

// observed is an Ops with every metric there is. The mux behind it is empty.
func observed() *Ops {
	return New(Config{
		Version:  "v1.2.3",
		Revision: "abc",
		Refusals: map[string][]string{
			"outside": {"claimed", "unknown-path", "max-containers", "memory-pressure", "socket-stall"},
			"inside":  {"origin", "max-asks", "max-waiting", "max-asks-total", "max-streams", "max-containers", "max-buffered", "max-buffered-total", "max-connections-per-second", "memory-pressure"},
		},
		Paths:        []string{"requests", "containers", "call-tool", "notifications"},
		Unheard:      []string{"no-stream"},
		Panics:       []string{"outside"},
		Limits:       []Limit{{"max-asks", 256}, {"max-containers", 50_000}, {"max-buffered", 256 << 20}, {"memory", 0}},
		Mux:          mux.New(mux.Config{}).Stats,
		Streams:      new(stream.Counters),
		Logger:       slog.New(slog.DiscardHandler),
		Files:        []Files{{"auth-keys", func() reload.Stats { return reload.Stats{} }}},
		Certificates: map[string]func() time.Time{"inside": func() time.Time { return time.Unix(0, 0) }},
	})
}

// families gathers by name.
func families(t *testing.T, o *Ops) map[string]*dto.MetricFamily {
	t.Helper()
	gathered, err := o.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*dto.MetricFamily, len(gathered))
	for _, f := range gathered {
		all[f.GetName()] = f
	}
	return all
}

// value is the value of the one child of a metric that has these labels (name, value, name, value, …).
func value(t *testing.T, o *Ops, metric string, labels ...string) float64 {
	t.Helper()
	f := families(t, o)[metric]
	if f == nil {
		t.Fatalf("there is no %s", metric)
	}
children:
	for _, m := range f.GetMetric() {
		have := make(map[string]string)
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		for i := 0; i < len(labels); i += 2 {
			if have[labels[i]] != labels[i+1] {
				continue children
			}
		}
		return number(m)
	}
	t.Fatalf("%s has no child with %q", metric, labels)
	return 0
}

// number is a child's value; a histogram's is its count.
func number(m *dto.Metric) float64 {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	default:
		return float64(m.GetHistogram().GetSampleCount())
	}
}

// serve serves o on a port of the loopback until the test ends, and returns its URL.
func serve(t *testing.T, o *Ops) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- o.Serve(ln) }()
	t.Cleanup(func() {
		if err := o.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

// ask makes one request on a connection of its own.
func ask(t *testing.T, method, url, accept string) (response *http.Response, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err = transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(read)
}

// there is a container that may not be refused.
func there(c *mux.Container, err error) *mux.Container {
	if err != nil {
		panic(err)
	}
	return c
}

// asked is an ask that may not be refused.
func asked(a *mux.Ask, err error) *mux.Ask {
	if err != nil {
		panic(err)
	}
	return a
}
