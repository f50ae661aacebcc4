package main

import "github.com/diverge-network/gateway/test/results"

const (
	released = "0.1.16"         // knows the revisions with sessions
	next     = "0.2.0-alpha.12" // knows 2026-07-28, and checks every message against the revision's schema
)

// suite is one run of the conformance suite.
type suite struct {
	version  string // of the suite
	revision string
	farSide  string
	required []string
	baseline string // file of baseline/
}

var suites = []suite{
	{released, "2025-06-18", results.Sessions, of20250618, "legacy"},
	{released, "2025-11-25", results.Sessions, of20251125, "legacy"},
	{next, "2025-11-25", results.Sessions, of20251125More, "legacy"},
	{next, results.Modern, results.Sessions, of20260728, "sessions"},
	{released, "2025-06-18", results.Stateless, of20250618, "legacy"},
	{released, "2025-11-25", results.Stateless, of20251125, "legacy"},
	{next, "2025-11-25", results.Stateless, of20251125More, "legacy"},
	{next, results.Modern, results.Stateless, of20260728Stateless, "stateless"},
}

// native tells whether a server of the far side serves the revision itself, so that it can be tried without a gateway.
func (s suite) native() bool {
	return (s.revision == results.Modern) == (s.farSide == results.Stateless)
}

func (s suite) name() string { return s.version + "/" + s.revision + "/" + s.farSide }

// args are the suite's own words for what to run.
func (s suite) args() []string {
	if s.version == released {
		return []string{"--spec-version", s.revision}
	}
	return []string{"--requirements", s.revision}
}
