package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/test/results"
)

func checksOf(statuses ...string) []check {
	var list []check
	for i, s := range statuses {
		id, status, ok := strings.Cut(s, ":")
		if !ok {
			id, status = string(rune('a'+i)), s
		}
		list = append(list, check{ID: id, Status: status})
	}
	return list
}

func TestScenariosAreJudgedStrictly(t *testing.T) {
	b := baseline{"excused": "no such thing", "partly:x": "no x"}
	for _, c := range []struct {
		about    string
		required []string
		ran      map[string][]check
		want     results.Outcome
		detail   string
	}{
		{"a required one that passes", []string{"s"}, map[string][]check{"s": checksOf("SUCCESS", "INFO")}, results.Pass, ""},
		{"one that was not run", []string{"s"}, nil, results.Fail, "was not run"},
		{"one that fails", []string{"s"}, map[string][]check{"s": checksOf("SUCCESS", "FAILURE")}, results.Fail, "b: FAILURE"},
		{"a warning", []string{"s"}, map[string][]check{"s": checksOf("SUCCESS", "WARNING")}, results.Fail, "b: WARNING"},
		{"one that was skipped", []string{"s"}, map[string][]check{"s": checksOf("SKIPPED")}, results.Fail, "nothing of it succeeded"},
		{"nothing but valid messages", []string{"s"}, map[string][]check{"s": checksOf(wireSchema + ":SUCCESS")}, results.Fail, "nothing of it succeeded"},
		{"an excused check", []string{"partly"}, map[string][]check{"partly": checksOf("SUCCESS", "x:FAILURE")}, results.Pass, "without x: no x"},
		{"an excused check that passes", []string{"partly"}, map[string][]check{"partly": checksOf("SUCCESS", "x:SUCCESS")}, results.Fail, "out of the baseline"},
		{"another check of that scenario", []string{"partly"}, map[string][]check{"partly": checksOf("FAILURE", "x:FAILURE")}, results.Fail, "a: FAILURE"},
		{"an excused scenario", nil, map[string][]check{"excused": checksOf("FAILURE")}, results.Absent, "no such thing"},
		{"an excused scenario that was skipped", nil, map[string][]check{"excused": checksOf("SKIPPED")}, results.Absent, "no such thing"},
		{"an excused scenario that passes", nil, map[string][]check{"excused": checksOf("SUCCESS")}, results.Fail, "out of the baseline"},
		{"an excused scenario with an invalid message", nil, map[string][]check{"excused": checksOf("FAILURE", wireSchema+":FAILURE")}, results.Fail, wireSchema},
		{"one that is nowhere", nil, map[string][]check{"new": checksOf("SUCCESS")}, results.Fail, "put it in one"},
		{"one that is in both", []string{"excused"}, map[string][]check{"excused": checksOf("SUCCESS")}, results.Fail, "take it out of one"},
	} {
		got := judge(c.required, b, c.ran)
		if len(got) != 1 || got[0].Outcome != c.want || !strings.Contains(got[0].Detail, c.detail) {
			t.Errorf("%s: %+v, want %s with %q", c.about, got, c.want, c.detail)
		}
	}
}

func TestEverySuiteKnowsWhatItRequiresAndWhy(t *testing.T) {
	for _, s := range suites {
		b, err := readBaseline(s.baseline)
		if err != nil {
			t.Errorf("%s: %v", s.name(), err)
		}
		if len(s.required) < 14 || len(b) < 10 {
			t.Errorf("%s: %d required, %d in the baseline", s.name(), len(s.required), len(b))
		}
		if sorted := slices.Sorted(slices.Values(s.required)); len(slices.Compact(sorted)) != len(s.required) {
			t.Errorf("%s requires something twice", s.name())
		}
		for _, name := range s.required {
			if b[name] != "" {
				t.Errorf("%s: %s is both required and in the baseline", s.name(), name)
			}
		}
		for entry := range b {
			if scenario, _, ok := strings.Cut(entry, ":"); ok && !slices.Contains(s.required, scenario) {
				t.Errorf("%s: %s excuses a check of a scenario that is not required", s.name(), entry)
			}
		}
	}
}

func TestResultsAreReadAsTheSuiteWritesThem(t *testing.T) {
	dir := t.TempDir()
	write := func(folder, checks string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if checks == "" {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "checks.json"), []byte(checks), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("server-server-sse-polling-2026-11-30T18-43-32-563Z", `[{"id":"x","status":"FAILURE","errorMessage":"no"}]`)
	write("server-ping-2026-11-30T18-43-32-563Z", `[{"id":"ping","status":"SUCCESS","details":{"id":7}}]`)
	write("server-tasks-lifecycle-2026-11-30T18-43-32-563Z", "") // it broke off
	found, err := readScenarios(dir)
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	if c := found["server-sse-polling"]; len(c) != 1 || c[0].told() != "x: no" {
		t.Errorf("server-sse-polling: %+v", c)
	}
	if c := found["tasks-lifecycle"]; len(c) != 1 || !c[0].bad() {
		t.Errorf("a scenario that broke off: %+v", c)
	}
	write("something-else", "[]")
	if _, err := readScenarios(dir); err == nil {
		t.Error("a folder that is no scenario's was read")
	}
}
