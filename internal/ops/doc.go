// Package ops serves what an operator looks at: /metrics for Prometheus, and the probes /healthz and /readyz.
//
// What the other rooms report as it happens arrives through the observer methods of Ops, which add to children resolved
// when Ops was made: they allocate nothing, take no lock, and may be called from any goroutine. What they count themselves
// (packages mux and stream) is read at scrape time. Every label value is known beforehand and stands at zero from the first
// scrape on, so that a rate over it has a beginning; none ever names a container.
package ops
