package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/diverge-network/gateway/test/results"
)

// check is one check of a scenario, as the suite writes it.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	Message string `json:"errorMessage"`
}

// wireSchema is the check that every message of a scenario was valid. It says nothing of the scenario's subject, and a server
// that is not even there passes it.
const wireSchema = "wire-schema-valid"

var scenarioFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

// readScenarios reads the folder that the suite wrote: a scenario's name to its checks.
func readScenarios(dir string) (map[string][]check, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string][]check{}
	for _, e := range entries {
		m := scenarioFolder.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("%s holds %s, which is not named as a scenario's results are", dir, e.Name())
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		var checks []check
		switch {
		case errors.Is(err, fs.ErrNotExist):
			checks = []check{{ID: m[1], Status: "FAILURE", Message: "the scenario broke off"}}
		case err != nil:
			return nil, err
		default:
			if err := json.Unmarshal(b, &checks); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name(), err)
			}
		}
		found[m[1]] = append(found[m[1]], checks...)
	}
	return found, nil
}

// judge says what became of every scenario that is required, does not apply, or was run; in the order of their names.
func judge(required []string, b baseline, ran map[string][]check) []results.Check {
	var names []string
	names = append(names, required...)
	for name := range ran {
		names = append(names, name)
	}
	slices.Sort(names)
	var judged []results.Check
	for _, name := range slices.Compact(names) {
		checks, done := ran[name]
		reason, excepted := b[name]
		c := results.Check{Name: name}
		switch need := slices.Contains(required, name); {
		case need && excepted:
			c.Outcome, c.Detail = results.Fail, "both required and in the baseline: take it out of one"
		case need && !done:
			c.Outcome, c.Detail = results.Fail, "required, and was not run"
		case need:
			c.Outcome, c.Detail = passes(checks, b.checks(name))
		case excepted:
			c.Outcome, c.Detail = doesNotApply(checks, reason)
		default:
			c.Outcome, c.Detail = results.Fail, "neither required nor in the baseline: put it in one"
		}
		judged = append(judged, c)
	}
	return judged
}

// passes judges a required scenario. The detail of one that passed says which of its checks do not apply.
func passes(checks []check, excepted map[string]string) (results.Outcome, string) {
	var wrong, notes []string
	succeeded := 0
	for _, c := range checks {
		reason, exempt := excepted[c.ID]
		switch {
		case c.Status == "SUCCESS" && exempt:
			wrong = append(wrong, c.ID+" passes: take it out of the baseline")
		case c.Status == "SUCCESS" && c.ID != wireSchema:
			succeeded++
		case c.bad() && exempt:
			notes = append(notes, "without "+c.ID+": "+reason)
		case c.bad():
			wrong = append(wrong, c.told())
		}
	}
	if succeeded == 0 {
		wrong = append(wrong, "nothing of it succeeded")
	}
	if len(wrong) > 0 {
		return results.Fail, strings.Join(wrong, "; ")
	}
	slices.Sort(notes)
	return results.Pass, strings.Join(slices.Compact(notes), "; ")
}

// doesNotApply judges a scenario of the baseline: it has to fail, by messages that are valid all the same.
func doesNotApply(checks []check, reason string) (results.Outcome, string) {
	failed, succeeded := false, false
	for _, c := range checks {
		switch {
		case c.ID == wireSchema && c.bad():
			return results.Fail, c.told()
		case c.bad():
			failed = true
		case c.Status == "SUCCESS" && c.ID != wireSchema:
			succeeded = true
		}
	}
	if succeeded && !failed {
		return results.Fail, "passes: take it out of the baseline"
	}
	return results.Absent, reason
}

func (c check) bad() bool { return c.Status == "FAILURE" || c.Status == "WARNING" }

func (c check) told() string {
	if c.Message == "" {
		return c.ID + ": " + c.Status
	}
	return c.ID + ": " + c.Message
}
