package ops

import (
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/reload"
)

func TestFilesShowWhatBecameOfTheirChanges(t *testing.T) {
	o := New(Config{
		Files: []Files{
			{"auth-keys", func() reload.Stats { return reload.Stats{Taken: 3, Failed: 2, Stale: true} }},
			{"inside-tls", func() reload.Stats { return reload.Stats{Taken: 1} }},
		},
		Certificates: map[string]func() time.Time{"inside": func() time.Time { return time.Unix(2_000_000_000, 0) }},
	})
	for _, c := range []struct {
		metric string
		labels []string
		want   float64
	}{
		{"gateway_file_reloads_total", []string{"files", "auth-keys", "outcome", "taken"}, 3},
		{"gateway_file_reloads_total", []string{"files", "auth-keys", "outcome", "failed"}, 2},
		{"gateway_files_stale", []string{"files", "auth-keys"}, 1},
		{"gateway_file_reloads_total", []string{"files", "inside-tls", "outcome", "taken"}, 1},
		{"gateway_files_stale", []string{"files", "inside-tls"}, 0},
		{"gateway_tls_certificate_expiry_timestamp_seconds", []string{"listener", "inside"}, 2_000_000_000},
	} {
		if got := value(t, o, c.metric, c.labels...); got != c.want {
			t.Errorf("%s %q is %v, want %v", c.metric, c.labels, got, c.want)
		}
	}
}
