package ops

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

var (
	metricName  = regexp.MustCompile(`\b(?:gateway|go|process)_[a-z0-9_]+\b`)
	metricQuery = regexp.MustCompile(`\b((?:gateway|go|process)_[a-z0-9_]+)\{([^}]*)\}`)
	matcher     = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"([^"]*)"`)
	grouping    = regexp.MustCompile(`\bby \(([^)]*)\)`)
	tableRow    = regexp.MustCompile("(?m)^\\| `(gateway_[a-z0-9_]+)` \\| ([a-z]+) \\| ([^|]*)\\| ([^|]+) \\|$")
	inBackticks = regexp.MustCompile("`([^`]+)`")
)

// family finds the metric that a name in a query or a text stands for.
func family(all map[string]*dto.MetricFamily, name string) *dto.MetricFamily {
	if f := all[name]; f != nil {
		return f
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if f := all[strings.TrimSuffix(name, suffix)]; f != nil && f.GetType() != dto.MetricType_COUNTER && f.GetType() != dto.MetricType_GAUGE {
			return f
		}
	}
	return nil
}

// labelValues are the values that each label of a metric has.
func labelValues(f *dto.MetricFamily) map[string][]string {
	values := make(map[string][]string)
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if !slices.Contains(values[l.GetName()], l.GetValue()) {
				values[l.GetName()] = append(values[l.GetName()], l.GetValue())
			}
		}
	}
	return values
}

func TestTheDocumentDescribesEveryMetricAndNoOther(t *testing.T) {
	raw, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := families(t, observed())
	described := make(map[string]bool)
	for _, row := range tableRow.FindAllStringSubmatch(string(raw), -1) {
		name, kind, labels, meaning := row[1], row[2], row[3], row[4]
		f := all[name]
		if f == nil {
			t.Errorf("%s is described and does not exist", name)
			continue
		}
		described[name] = true
		if want := strings.ToLower(f.GetType().String()); kind != want {
			t.Errorf("%s is described as a %s and is a %s", name, kind, want)
		}
		var named []string
		for _, l := range inBackticks.FindAllStringSubmatch(labels, -1) {
			named = append(named, l[1])
		}
		have := labelValues(f)
		for label := range have {
			if !slices.Contains(named, label) {
				t.Errorf("%s has the label %s, which is not described", name, label)
			}
		}
		for _, label := range named {
			if have[label] == nil {
				t.Errorf("%s is described with the label %s, which it has not", name, label)
			}
		}
		// Values that the rooms define are not known here; those of package mux and package stream are.
		for _, label := range []string{"outcome", "reason", "state"} {
			if name == "gateway_refusals_total" || name == "gateway_notifications_unheard_total" {
				continue
			}
			for _, value := range have[label] {
				if !strings.Contains(meaning, "`"+value+"`") {
					t.Errorf("%s does not say what %s=%q means", name, label, value)
				}
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "gateway_") && !described[name] {
			t.Errorf("%s is not described", name)
		}
	}
	for _, name := range metricName.FindAllString(string(raw), -1) {
		if family(all, name) == nil {
			t.Errorf("the text names %s, which does not exist", name)
		}
	}
}

func TestTheDashboardShowsEveryMetricAndNoOther(t *testing.T) {
	raw, err := os.ReadFile("../../dashboards/gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard any
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	all := families(t, observed())
	shown := make(map[string]bool)
	queries := expressions(dashboard)
	if len(queries) < 20 {
		t.Fatalf("only %d queries found", len(queries))
	}
	for _, query := range queries {
		labels := make(map[string][]string)
		for _, use := range metricQuery.FindAllStringSubmatch(query, -1) {
			f := family(all, use[1])
			if f == nil {
				t.Errorf("%s does not exist, in %s", use[1], query)
				continue
			}
			shown[f.GetName()] = true
			for label, values := range labelValues(f) {
				labels[label] = append(labels[label], values...)
			}
			for _, match := range matcher.FindAllStringSubmatch(use[2], -1) {
				label, value := match[1], match[2]
				if strings.HasPrefix(value, "$") {
					continue // a variable
				}
				for _, alternative := range strings.Split(value, "|") {
					if !slices.Contains(labelValues(f)[label], alternative) {
						t.Errorf("%s has no %s=%q, in %s", use[1], label, alternative, query)
					}
				}
			}
		}
		// What a query names without a selector is no metric it was meant to select by instance.
		if names := metricName.FindAllString(query, -1); len(names) != len(metricQuery.FindAllString(query, -1)) {
			t.Errorf("a metric stands without {…} in %s", query)
		}
		for _, by := range grouping.FindAllStringSubmatch(query, -1) {
			for _, label := range strings.Split(by[1], ",") {
				if label = strings.TrimSpace(label); label != "le" && labels[label] == nil {
					t.Errorf("nothing has the label %s, in %s", label, query)
				}
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "gateway_") && !shown[name] {
			t.Errorf("%s is not on the dashboard", name)
		}
	}
}

// expressions finds every query of a dashboard.
func expressions(v any) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if text, ok := member.(string); ok && key == "expr" {
				found = append(found, text)
			} else {
				found = append(found, expressions(member)...)
			}
		}
	case []any:
		for _, member := range v {
			found = append(found, expressions(member)...)
		}
	}
	return found
}
