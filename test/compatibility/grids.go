package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diverge-network/gateway/test/results"
)

// featureTable has a row for each check of the client of no SDK, and a column for each revision.
func featureTable(runs []results.Run) *grid {
	g := newGrid("feature")
	for _, r := range runs {
		g.fault(r.Revision+" in front of a far side: "+r.FarSide, r.Failure)
		for _, c := range r.Checks {
			g.add(fmt.Sprintf("%s: %s", escape(c.Name), escape(c.About)), r.Revision, r.FarSide, c)
		}
	}
	slices.Sort(g.columns)
	return g
}

// clientTable has a row for each client and mode, with the revision that it negotiated, and a column for each check.
func clientTable(runs []results.Run) *grid {
	g := newGrid("client, mode, revision")
	for _, r := range runs {
		row := strings.Join([]string{named(r), r.Mode, r.Revision}, ", ")
		g.fault(row+", "+r.FarSide, r.Failure)
		for _, c := range r.Checks {
			g.add(row, escape(c.Name), r.FarSide, c)
		}
	}
	return g
}

// providerTable has a row for each provider and the revision of its caller, and a column for each check.
func providerTable(runs []results.Run) *grid {
	g := newGrid("server, caller's revision")
	for _, r := range runs {
		row := named(r) + ", " + r.Mode
		g.fault(row, r.Failure)
		for _, c := range r.Checks {
			g.add(row, escape(c.Name), r.FarSide, c)
		}
	}
	return g
}

// named is the program by its own name, or where it did not come to say it, by its folder.
func named(r results.Run) string {
	if r.Program == "" {
		return escape(r.Folder)
	}
	return escape(strings.TrimSpace(r.Program + " " + r.Version))
}

// conformanceTable has a row for each scenario, and a column for each version of the suite and revision.
func conformanceTable(suites []results.Suite) *grid {
	g := newGrid("scenario")
	for _, s := range suites {
		column := s.Revision + " by " + s.Tool[strings.LastIndex(s.Tool, "@")+1:]
		g.fault(column+", "+s.FarSide, s.Failure)
		for _, c := range s.Checks {
			g.add(escape(c.Name), column, s.FarSide, c)
		}
	}
	slices.Sort(g.rows)
	return g
}
