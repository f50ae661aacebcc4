package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/test/results"
)

// found is results of nothing that exists.
func found() (results.Interop, results.Conformance) {
	checks := func(prefix string, outcomes ...results.Outcome) []results.Check {
		var list []results.Check
		for i, o := range outcomes {
			c := results.Check{Name: prefix + string(rune('A'+i)), Outcome: o, About: "about " + prefix}
			if o == results.Absent {
				c.Detail = "because of " + prefix
			}
			list = append(list, c)
		}
		return list
	}
	return results.Interop{
			Clients: []results.Run{
				{Folder: results.Wire, Revision: "2030-01-01", FarSide: "north", Checks: checks("wire", results.Pass, results.Absent)},
				{Folder: results.Wire, Revision: "2029-01-01", FarSide: "south", Checks: checks("wire", results.Pass, results.Fail)},
				{Folder: "x", Program: "x-sdk", Version: "9", Mode: "m", Revision: "2030-01-01", FarSide: "north", Checks: checks("client", results.Pass, results.Pass, results.Absent)},
				{Folder: "x", Program: "x-sdk", Version: "9", Mode: "m", Revision: "2030-01-01", FarSide: "south", Checks: checks("client", results.Pass, results.Fail, results.Absent)},
			},
			Providers: []results.Run{{Folder: "y", Program: "y-server", Version: "8", Mode: "2029-01-01", Checks: checks("kind", results.Pass, results.Pass)}},
		}, results.Conformance{Suites: []results.Suite{
			{Tool: "suite@7", Revision: "2030-01-01", FarSide: "north", Checks: checks("scenario", results.Pass, results.Absent)},
			{Tool: "suite@7", Revision: "2030-01-01", FarSide: "south", Checks: checks("scenario", results.Pass, results.Pass)},
		}}
}

// cells are the cells of all tables, without the heads' rules.
func cells(doc []byte) []string {
	var list []string
	for _, line := range strings.Split(string(doc), "\n") {
		if strings.HasPrefix(line, "| ") {
			for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
				list = append(list, strings.TrimSpace(c))
			}
		}
	}
	return list
}

func TestWithoutResultsThereIsNoCell(t *testing.T) {
	doc := render(results.Interop{}, results.Conformance{})
	if got := cells(doc); len(got) != 0 {
		t.Errorf("cells that nothing was run for: %q", got)
	}
	if n := bytes.Count(doc, []byte("Nothing was run.")); n != 4 {
		t.Errorf("%d tables say that nothing was run, want 4", n)
	}
}

func TestEveryCellIsOfTheResults(t *testing.T) {
	interop, conformance := found()
	written, err := json.Marshal([]any{interop, conformance})
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"", "yes", "–", "not", "served", "**no**", "feature", "what was checked", "client", "mode", "revision", "server", "its caller's revision", "scenario"}
	got := cells(render(interop, conformance))
	if len(got) < 20 {
		t.Fatalf("only %d cells", len(got))
	}
	for _, c := range got {
		if slices.Contains(ours, c) {
			continue
		}
		// What is left is put together of the results' own words.
		for _, word := range strings.FieldsFunc(c, func(r rune) bool { return strings.ContainsRune(" ,:()", r) }) {
			if !slices.Contains(append(ours, "by"), word) && !bytes.Contains(written, []byte(word)) {
				t.Errorf("%q of the cell %q is in no result", word, c)
			}
		}
	}
}

func TestEveryOutcomeIsShown(t *testing.T) {
	interop, conformance := found()
	before := render(interop, conformance)
	try := func(checks []results.Check) {
		t.Helper()
		for i := range checks {
			was := checks[i]
			for _, o := range []results.Outcome{results.Pass, results.Absent, results.Fail} {
				checks[i].Outcome = o
				if o != was.Outcome && bytes.Equal(render(interop, conformance), before) {
					t.Errorf("%s could be %s instead of %s and nobody would see", was.Name, o, was.Outcome)
				}
			}
			checks[i] = was
		}
	}
	for _, r := range append(interop.Clients, interop.Providers...) {
		try(r.Checks)
	}
	for _, s := range conformance.Suites {
		try(s.Checks)
	}
}

func TestAFailureBesideTheChecksIsShown(t *testing.T) {
	interop, conformance := found()
	interop.Clients[2].Failure = "the client was killed at 12:34"
	doc := string(render(interop, conformance))
	if !strings.Contains(doc, "- x-sdk 9, m, 2030-01-01, north\n") {
		t.Error("the run is not named")
	}
	if strings.Contains(doc, "12:34") {
		t.Error("what went wrong is not the same in each run, and is in the document all the same")
	}
}

func TestAFarSideThatWasNotTriedIsNotClaimed(t *testing.T) {
	interop, conformance := found()
	interop.Clients = interop.Clients[:3]
	interop.Clients[0].FarSide = "south" // of 2030-01-01, which was tried with north alone elsewhere
	interop.Clients[1].FarSide = "north"
	doc := string(render(interop, conformance))
	if !strings.Contains(doc, "| wireA | about wire | yes (north) | yes (south) |") {
		t.Errorf("a far side that was not tried is claimed:\n%s", doc)
	}
}

func TestTheDocumentIsMadeByTheRenderer(t *testing.T) {
	doc, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(doc), preamble) {
		t.Error("docs/compatibility.md does not begin as the renderer has it: make it anew")
	}
	for _, sign := range []string{"Nothing was run", "Not to be relied on"} {
		if strings.Contains(string(doc), sign) {
			t.Errorf("docs/compatibility.md was made of results that are not whole: %s", sign)
		}
	}
	for _, c := range cells(doc) {
		if strings.Contains(c, newGrid().word(results.Fail)) {
			t.Errorf("docs/compatibility.md was made of results in which something failed: %s", c)
		}
	}
}
