package ops

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/diverge-network/gateway/internal/reload"
)

// Files are files that belong together, and are read again when they change.
type Files struct {
	Name  string // as the label has it
	Stats func() reload.Stats
}

// fileCollector reads at each scrape what became of files, and when certificates in them expire.
type fileCollector struct {
	files        []Files
	certificates map[string]func() time.Time // by listener

	reloads, stale, expiry *prometheus.Desc
}

func newFileCollector(files []Files, certificates map[string]func() time.Time) *fileCollector {
	return &fileCollector{
		files:        files,
		certificates: certificates,
		reloads: prometheus.NewDesc("gateway_file_reloads_total",
			"Changes of key and certificate files, by what became of them.",
			[]string{"files", "outcome"}, nil),
		stale: prometheus.NewDesc("gateway_files_stale",
			"1 while older contents of these files are in use, because the newest could not be.",
			[]string{"files"}, nil),
		expiry: prometheus.NewDesc("gateway_tls_certificate_expiry_timestamp_seconds",
			"When the first of the certificates that a listener sends expires, in Unix time.",
			[]string{"listener"}, nil),
	}
}

func (c *fileCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.reloads
	out <- c.stale
	out <- c.expiry
}

func (c *fileCollector) Collect(out chan<- prometheus.Metric) {
	for _, f := range c.files {
		s := f.Stats()
		labelled(out, c.reloads, prometheus.CounterValue, int64(s.Taken), f.Name, "taken")
		labelled(out, c.reloads, prometheus.CounterValue, int64(s.Failed), f.Name, "failed")
		stale := int64(0)
		if s.Stale {
			stale = 1
		}
		labelled(out, c.stale, prometheus.GaugeValue, stale, f.Name)
	}
	for listener, notAfter := range c.certificates {
		labelled(out, c.expiry, prometheus.GaugeValue, notAfter().Unix(), listener)
	}
}
