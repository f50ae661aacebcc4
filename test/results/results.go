// Package results is what the interoperability and the conformance runs found, as they write it and as docs/compatibility.md
// is made of it.
package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Outcome is what became of a check.
type Outcome string

const (
	Pass   Outcome = "pass"
	Fail   Outcome = "fail"
	Absent Outcome = "absent" // the revision has no such thing, or the gateway does not serve it, and that is meant so
)

// Check is one check that was made. Detail says what was wrong, or why the thing is absent.
type Check struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	About   string  `json:"about,omitempty"` // what passing means, in the words of the program that checked
	Detail  string  `json:"detail,omitempty"`
}

// Run is one program against one gateway.
type Run struct {
	Folder   string  `json:"folder"`
	Program  string  `json:"program"` // its own name for itself
	Version  string  `json:"version"`
	Mode     string  `json:"mode,omitempty"`     // of a client
	Revision string  `json:"revision,omitempty"` // that a client negotiated
	FarSide  string  `json:"farSide,omitempty"`  // what was behind the gateway of a client: Sessions or Stateless
	Checks   []Check `json:"checks"`
	Failure  string  `json:"failure,omitempty"` // why the run as a whole is no good, whatever the checks say
}

// Wire is the folder of the client of no SDK, whose checks are the features.
const Wire = "wire"

// What is behind the gateway.
const (
	Sessions  = "sessions"
	Stateless = "stateless"
)

// Modern is the revision of a stateless far side.
const Modern = "2026-07-28"

// Failed tells whether anything is wrong with the run.
func (r Run) Failed() bool {
	if r.Failure != "" {
		return true
	}
	for _, c := range r.Checks {
		if c.Outcome == Fail {
			return true
		}
	}
	return false
}

// Interop is what other people's programs found.
type Interop struct {
	Clients   []Run `json:"clients"`
	Providers []Run `json:"providers"`
}

// Conformance is what the conformance suite found.
type Conformance struct {
	Suites []Suite `json:"suites"`
}

// Suite is one run of the conformance suite through the gateway. A scenario is a Check; About is unused.
type Suite struct {
	Name     string  `json:"name"`
	Tool     string  `json:"tool"`     // package and version
	Revision string  `json:"revision"` // asked for
	FarSide  string  `json:"farSide"`
	Checks   []Check `json:"checks"`
	Failure  string  `json:"failure,omitempty"`
}

// Failed tells whether anything is wrong with the suite.
func (s Suite) Failed() bool { return Run{Checks: s.Checks, Failure: s.Failure}.Failed() }

// The files' names within the folder of the results.
const (
	InteropFile     = "interop.json"
	ConformanceFile = "conformance.json"
)

// Write writes v as JSON.
func Write(dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o644)
}

// Read reads what Write wrote.
func Read(dir, name string, v any) error {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
