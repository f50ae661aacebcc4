package ops

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

func newBuildInfo(version, revision string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "gateway_build_info",
		Help:        "Always 1; its labels say which build this is.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	})
	info.Set(1)
	return info
}
