package main

import (
	"slices"
	"strings"

	"github.com/diverge-network/gateway/test/results"
)

// featureTable has a row for each check of the client of no SDK, and a column for each revision.
func featureTable(runs []results.Run) *grid {
	g := newGrid("feature", "what was checked")
	for _, r := range runs {
		g.fault(r.Revision+" in front of a far side: "+r.FarSide, r.Failure)
		for _, c := range r.Checks {
			g.add(label(c.Name, c.About), r.Revision, r.FarSide, c)
		}
	}
	slices.Sort(g.columns)
	return g
}

// clientTable has a row for each client and mode, with the revision that it negotiated, and a column for each check.
func clientTable(runs []results.Run) *grid {
	g := newGrid("client", "mode", "revision")
	for _, r := range runs {
		g.fault(strings.Join([]string{named(r), r.Mode, r.Revision, r.FarSide}, ", "), r.Failure)
		for _, c := range r.Checks {
			g.add(label(named(r), r.Mode, r.Revision), escape(c.Name), r.FarSide, c)
		}
	}
	return g
}

// providerTable has a row for each provider and the revision of its caller, and a column for each check.
func providerTable(runs []results.Run) *grid {
	g := newGrid("server", "its caller's revision")
	for _, r := range runs {
		g.fault(named(r)+", "+r.Mode, r.Failure)
		for _, c := range r.Checks {
			g.add(label(named(r), r.Mode), escape(c.Name), r.FarSide, c)
		}
	}
	return g
}

// label is what a row begins with, of as many cells as the grid's corner has.
func label(parts ...string) string {
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return strings.Join(parts, " | ")
}

// named is the program by its own name, or where it did not come to say it, by its folder.
func named(r results.Run) string {
	if r.Program == "" {
		return r.Folder
	}
	return strings.TrimSpace(r.Program + " " + r.Version)
}

// conformanceTable has a row for each scenario, and a column for each version of the suite and revision.
func conformanceTable(suites []results.Suite) *grid {
	g := newGrid("scenario")
	g.absent = "not served"
	for _, s := range suites {
		column := s.Revision + " by " + s.Tool[strings.LastIndex(s.Tool, "@")+1:]
		g.fault(column+", "+s.FarSide, s.Failure)
		for _, c := range s.Checks {
			g.add(label(c.Name), column, s.FarSide, c)
		}
	}
	slices.Sort(g.rows)
	return g
}
