package ops

import "github.com/prometheus/client_golang/prometheus"

// singles is a counter with one label whose values are a closed set. The map is never written after it was made.
type singles struct {
	children map[string]prometheus.Counter
	rest     prometheus.Counter
}

func newSingles(r prometheus.Registerer, opts prometheus.CounterOpts, label string, values []string) singles {
	vec := prometheus.NewCounterVec(opts, []string{label})
	r.MustRegister(vec)
	s := singles{children: make(map[string]prometheus.Counter, len(values)), rest: vec.WithLabelValues(other)}
	for _, v := range values {
		s.children[v] = vec.WithLabelValues(v)
	}
	return s
}

func (s *singles) inc(value string) {
	if c, ok := s.children[value]; ok {
		c.Inc()
		return
	}
	s.rest.Inc()
}

// pair is the values of two labels.
type pair struct{ first, second string }

// pairs is a counter with two labels, the second label's values being a closed set for each of the first's.
type pairs struct {
	children map[pair]prometheus.Counter
	rest     map[string]prometheus.Counter // by the first label's value
	unknown  prometheus.Counter
}

func newPairs(r prometheus.Registerer, opts prometheus.CounterOpts, first, second string, values map[string][]string) pairs {
	vec := prometheus.NewCounterVec(opts, []string{first, second})
	r.MustRegister(vec)
	p := pairs{
		children: make(map[pair]prometheus.Counter),
		rest:     make(map[string]prometheus.Counter, len(values)),
		unknown:  vec.WithLabelValues(other, other),
	}
	for f, seconds := range values {
		p.rest[f] = vec.WithLabelValues(f, other)
		for _, s := range seconds {
			p.children[pair{f, s}] = vec.WithLabelValues(f, s)
		}
	}
	return p
}

func (p *pairs) inc(first, second string) {
	if c, ok := p.children[pair{first, second}]; ok {
		c.Inc()
		return
	}
	if c, ok := p.rest[first]; ok {
		c.Inc()
		return
	}
	p.unknown.Inc()
}
