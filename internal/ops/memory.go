package ops

import "github.com/prometheus/client_golang/prometheus"

// memoryShort shows whether nothing new is begun for want of memory.
func memoryShort(short func() bool) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gateway_memory_short",
		Help: "1 while new work is refused for want of memory.",
	}, func() float64 {
		if short != nil && short() {
			return 1
		}
		return 0
	})
}
