package ops

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

func TestReadyzFollowsSetReady(t *testing.T) {
	o := observed()
	url := serve(t, o)
	for _, step := range []struct {
		ready  bool
		status int
		says   string
	}{
		{false, http.StatusServiceUnavailable, "not ready"},
		{true, http.StatusOK, "ready"},
		{false, http.StatusServiceUnavailable, "not ready"},
	} {
		o.SetReady(step.ready)
		response, body := ask(t, http.MethodGet, url+"/readyz", "")
		if response.StatusCode != step.status || !strings.HasPrefix(body, step.says) {
			t.Errorf("SetReady(%t): %s %q", step.ready, response.Status, body)
		}
		if response, _ := ask(t, http.MethodGet, url+"/healthz", ""); response.StatusCode != http.StatusOK {
			t.Errorf("SetReady(%t): /healthz says %s", step.ready, response.Status)
		}
	}
}

func TestAnUnknownPathOrMethodIsRefusedAndCounted(t *testing.T) {
	o := observed()
	url := serve(t, o)
	if response, body := ask(t, http.MethodGet, url+"/metric", ""); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "/metrics") {
		t.Errorf("%s %q", response.Status, body)
	}
	response, body := ask(t, http.MethodPost, url+"/metrics", "")
	if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" || body == "" {
		t.Errorf("%s, Allow %q, %q", response.Status, response.Header.Get("Allow"), body)
	}
	for _, reason := range []string{"unknown-path", "method"} {
		if got := value(t, o, "gateway_refusals_total", "listener", "ops", "reason", reason); got != 1 {
			t.Errorf("%s was counted %g times", reason, got)
		}
	}
}

func TestHeadAnswersWithoutABody(t *testing.T) {
	url := serve(t, observed())
	for _, path := range []string{"/metrics", "/healthz"} {
		if response, body := ask(t, http.MethodHead, url+path, ""); response.StatusCode != http.StatusOK || body != "" {
			t.Errorf("%s: %s %q", path, response.Status, body)
		}
	}
}

func TestMetricsSpeakTextAndProtobuf(t *testing.T) {
	o := observed()
	o.Exchange(codec.ReadResource, "answered", time.Second)
	url := serve(t, o)

	response, text := ask(t, http.MethodGet, url+"/metrics", "")
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") {
		t.Errorf("Content-Type %q", kind)
	}
	for _, line := range []string{
		`gateway_exchange_seconds_bucket{kind="read-resource",le="1"} 1`,
		`gateway_exchange_seconds_count{kind="read-resource"} 1`,
		`gateway_exchanges_total{kind="list-tools",outcome="not-served"} 0`,
		"go_goroutines ",
		"process_open_fds ",
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line %q", line)
		}
	}

	// The way a Prometheus with native histograms asks.
	response, _ = ask(t, http.MethodGet, url+"/metrics", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/vnd.google.protobuf") {
		t.Errorf("Content-Type %q", kind)
	}
}

func TestTheHistogramIsNativeAndClassic(t *testing.T) {
	o := observed()
	o.Exchange(codec.CallTool, "answered", 20*time.Millisecond)
	for _, m := range families(t, o)["gateway_exchange_seconds"].GetMetric() {
		h := m.GetHistogram()
		if len(h.GetBucket()) != len(durationBuckets) {
			t.Errorf("%v: %d classic buckets, want %d", m.GetLabel(), len(h.GetBucket()), len(durationBuckets))
		}
		if h.Schema == nil {
			t.Errorf("%v has no native buckets", m.GetLabel())
		}
	}
}
