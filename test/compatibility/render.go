package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diverge-network/gateway/test/results"
)

const preamble = `# Compatibility

<!-- Made by the commands below. Changes by hand are overwritten, and fail CI. -->

What other people's software does with the gateway. Every cell comes from a check that was run, of real processes on loopback:
` + "`gateway serve` and `gateway answer`" + ` in front of an MCP server. Made by

` + "```sh" + `
go run ./test/interop --out /tmp/results       # clients and providers
go run ./test/conformance --out /tmp/results   # the official conformance suite
go run ./test/compatibility --results /tmp/results
` + "```" + `

The first two install what they run, which takes minutes the first time, and need Node, npm, Python and cargo;
[test/interop](../test/interop/README.md) says what each check is, and how to run some of them.

*yes*: checked with a far side (what is behind ` + "`gateway answer`" + `) that has sessions, and with one of the stateless revision;
where they differ, the cell says which. *–*: that revision, or that program, has no such thing. *not served*: the gateway, or
the server behind it, does not have it. The reasons are below each table. **no**: it failed. Empty: there is no such check.
`

// render is the whole document.
func render(interop results.Interop, conformance results.Conformance) []byte {
	var features, clients []results.Run
	for _, r := range interop.Clients {
		if r.Folder == results.Wire {
			features = append(features, r)
		} else {
			clients = append(clients, r)
		}
	}
	var b bytes.Buffer
	b.WriteString(preamble)
	b.WriteString("\n## Features by revision\n\nOn the wire, by a client of no SDK.\n")
	table(&b, featureTable(features))
	b.WriteString("\n## Clients\n\nThe checks are those of [test/interop](../test/interop/README.md).\n")
	table(&b, clientTable(clients))
	b.WriteString("\n## Servers of the five kinds\n\nWritten by [protocol.md](protocol.md) alone, called by a client of each era. The checks are those of\n[test/interop](../test/interop/README.md).\n")
	table(&b, providerTable(interop.Providers))
	b.WriteString("\n## Conformance\n\nScenarios of the official suite, through the gateway in front of the Go SDK's conformance server.\n")
	table(&b, conformanceTable(conformance.Suites))
	return b.Bytes()
}

// grid is a table whose cells are what became of checks.
type grid struct {
	corner  []string
	columns []string
	rows    []string
	cells   map[[2]string]*cell // by row and column
	sides   []string            // far sides of all cells
	broken  []string            // runs that are no good as a whole, whatever their checks say
	absent  string              // the word for results.Absent
}

// cell gathers what became of one check.
type cell struct {
	check   string
	by      map[string]results.Outcome // by far side
	reasons []string                   // why a thing is absent, or what of it does not apply, in words of the run
}

func newGrid(corner ...string) *grid {
	return &grid{corner: corner, cells: map[[2]string]*cell{}, absent: "–"}
}

// add puts a check into the grid. A second one of the same far side in one cell makes it worse, never better.
func (g *grid) add(row, column, farSide string, c results.Check) {
	if !slices.Contains(g.rows, row) {
		g.rows = append(g.rows, row)
	}
	if !slices.Contains(g.columns, column) {
		g.columns = append(g.columns, column)
	}
	if !slices.Contains(g.sides, farSide) {
		g.sides = append(g.sides, farSide)
	}
	at := g.cells[[2]string{row, column}]
	if at == nil {
		at = &cell{check: escape(c.Name), by: map[string]results.Outcome{}}
		g.cells[[2]string{row, column}] = at
	}
	if at.by[farSide] != results.Fail {
		at.by[farSide] = c.Outcome
	}
	if c.Outcome != results.Fail && c.Detail != "" && !slices.Contains(at.reasons, c.Detail) {
		at.reasons = append(at.reasons, c.Detail)
	}
}

func (g *grid) fault(run, failure string) {
	if failure != "" {
		g.broken = append(g.broken, run)
	}
}

func (g *grid) word(o results.Outcome) string {
	switch o {
	case results.Pass:
		return "yes"
	case results.Absent:
		return g.absent
	default:
		return "**no**"
	}
}

// say is a cell in words; where the far sides differ, or one was not tried, it says which.
func (g *grid) say(row, column string) string {
	c := g.cells[[2]string{row, column}]
	if c == nil {
		return ""
	}
	var outcomes, each []string
	for _, farSide := range slices.Sorted(maps.Keys(c.by)) {
		word := g.word(c.by[farSide])
		outcomes = append(outcomes, word)
		each = append(each, word+" ("+farSide+")")
	}
	if len(c.by) == len(g.sides) && len(slices.Compact(outcomes)) == 1 {
		return outcomes[0]
	}
	return strings.Join(each, ", ")
}

// table writes a grid, and the reasons below it.
func table(b *bytes.Buffer, g *grid) {
	if len(g.rows) == 0 {
		b.WriteString("\nNothing was run.\n")
	} else {
		head := append(slices.Clone(g.corner), g.columns...)
		fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, row := range g.rows {
			fmt.Fprintf(b, "| %s |", row)
			for _, column := range g.columns {
				fmt.Fprintf(b, " %s |", g.say(row, column))
			}
			b.WriteString("\n")
		}
	}
	for i, broken := range g.broken {
		if i == 0 {
			b.WriteString("\n**Not to be relied on**, as something went wrong beside the checks:\n\n")
		}
		fmt.Fprintf(b, "- %s\n", broken)
	}
	g.writeReasons(b)
}

// writeReasons lists each reason once, with what it is the reason for.
func (g *grid) writeReasons(b *bytes.Buffer) {
	var order []string
	subjects := map[string][]string{}
	for _, row := range g.rows {
		for _, column := range g.columns {
			at := g.cells[[2]string{row, column}]
			if at == nil {
				continue
			}
			for _, reason := range at.reasons {
				if !slices.Contains(order, reason) {
					order = append(order, reason)
				}
				if !slices.Contains(subjects[reason], at.check) {
					subjects[reason] = append(subjects[reason], at.check)
				}
			}
		}
	}
	for i, reason := range order {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- %s: %s\n", strings.Join(subjects[reason], ", "), escape(reason))
	}
}

// escape keeps text from ending a cell.
func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
