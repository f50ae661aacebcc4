package main

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed baseline/*.yml
var baselines embed.FS

// baseline is the scenarios, and the checks of scenarios ("scenario:check"), that do not apply, with the reasons.
type baseline map[string]string

// readBaseline reads a file of baseline/, of which the suite reads the same lines as YAML. Every entry has a reason.
func readBaseline(name string) (baseline, error) {
	b, err := baselines.ReadFile("baseline/" + name + ".yml")
	if err != nil {
		return nil, err
	}
	found := baseline{}
	for i, line := range strings.Split(string(b), "\n") {
		entry, ok := strings.CutPrefix(line, "  - ")
		if !ok {
			if line != "" && line != "server:" && !strings.HasPrefix(line, "#") {
				return nil, fmt.Errorf("baseline/%s.yml:%d: %q is no entry: write '  - SCENARIO # reason'", name, i+1, line)
			}
			continue
		}
		scenario, reason, ok := strings.Cut(entry, " # ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("baseline/%s.yml:%d: %s has no reason: write '  - SCENARIO # reason'", name, i+1, entry)
		}
		if _, twice := found[scenario]; twice {
			return nil, fmt.Errorf("baseline/%s.yml:%d: %s is there twice", name, i+1, scenario)
		}
		found[scenario] = reason
	}
	return found, nil
}

// checks are the excepted checks of a scenario that is required otherwise.
func (b baseline) checks(scenario string) map[string]string {
	excepted := map[string]string{}
	for entry, reason := range b {
		if s, check, ok := strings.Cut(entry, ":"); ok && s == scenario {
			excepted[check] = reason
		}
	}
	return excepted
}
