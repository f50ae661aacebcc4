// Package report is the NDJSON that the client programs print and the runner reads: who the client is, then a line for each
// check.
package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// Line is one line of a program's standard output.
type Line struct {
	// The first line.
	Client   string `json:"client,omitempty"`
	Version  string `json:"version,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Of a provider, which has no other line.
	Provider string `json:"provider,omitempty"`

	// Every other line.
	Check  string `json:"check,omitempty"`
	About  string `json:"about,omitempty"` // what passing means
	OK     *bool  `json:"ok,omitempty"`
	Detail string `json:"detail,omitempty"`
	Absent string `json:"absent,omitempty"` // why this revision has no such thing
}

// Checks is an ordered list of checks, each an error, or an Absence.
type Check struct {
	Name  string
	About string
	Do    func() error
}

// Absence, as the error of a check, says why there is no such thing in this revision.
type Absence string

func (a Absence) Error() string { return string(a) }

// Run makes the checks in order, each whatever became of those before it, and prints a line for each. It tells whether all
// was well.
func Run(w io.Writer, checks []Check) bool {
	well := true
	for _, c := range checks {
		line := Line{Check: c.Name, About: c.About}
		err := c.Do()
		if absent, ok := err.(Absence); ok {
			line.Absent = string(absent)
		} else {
			ok := err == nil
			line.OK = &ok
			if !ok {
				line.Detail = err.Error()
				well = false
			}
		}
		Print(w, line)
	}
	return well
}

// Print prints one line.
func Print(w io.Writer, line Line) {
	b, err := json.Marshal(line)
	if err != nil {
		panic(err) // it has no values that have no JSON
	}
	fmt.Fprintf(w, "%s\n", b)
}
