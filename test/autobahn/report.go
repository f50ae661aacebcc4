package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// outcome is what the suite found in one case.
type outcome struct {
	Behavior      string `json:"behavior"`
	BehaviorClose string `json:"behaviorClose"` // of how the connection was closed
	Description   string `json:"description"`
	Result        string `json:"result"`
	ResultClose   string `json:"resultClose"`
}

// readReports reads the folder that the suite wrote: a case's number to its outcome.
func readReports(dir, agent string) (map[string]outcome, error) {
	var index map[string]map[string]struct {
		File string `json:"reportfile"`
	}
	if err := readJSON(filepath.Join(dir, "index.json"), &index); err != nil {
		return nil, fmt.Errorf("the suite made no report: %w", err)
	}
	if len(index) != 1 || index[agent] == nil {
		return nil, fmt.Errorf("%s is not of %q alone", filepath.Join(dir, "index.json"), agent)
	}
	found := map[string]outcome{}
	for id, c := range index[agent] {
		var o outcome
		if err := readJSON(filepath.Join(dir, filepath.Base(c.File)), &o); err != nil {
			return nil, fmt.Errorf("case %s: %w", id, err)
		}
		o.Description = plain(o.Description)
		found[id] = o
	}
	return found, nil
}

func readJSON(file string, v any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

var tag = regexp.MustCompile(`<[^>]*>`)

// plain is a description's first lines without HTML.
func plain(description string) string {
	sentence, _, _ := strings.Cut(description, "<br")
	return strings.Join(strings.Fields(tag.ReplaceAllString(sentence, "")), " ")
}
