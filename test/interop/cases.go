package main

import "github.com/diverge-network/gateway/test/results"

// checks are what every client makes, in this order (README.md). A client may make more.
var checks = []string{
	"connect", "list-pages", "call", "progress", "cancel", "read", "list-changed", "ping", "big-result", "disconnect",
}

const (
	newestWithSessions = "2025-11-25"
	container          = "interop"
)

// mode is a client's mode and the revision that has to be negotiated in it.
type mode struct {
	name     string
	revision string
}

var (
	legacy = mode{"legacy", newestWithSessions}
	auto   = mode{"auto", results.Modern}
)

// program is a client in its folder.
type program struct {
	folder string
	modes  []mode
	checks []string // that it has to make
	serve  []string // further flags of gateway serve
}

var clients = []program{
	{
		folder: results.Wire,
		modes: []mode{
			{"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
			{"2025-11-25", "2025-11-25"}, {results.Modern, results.Modern},
		},
		serve: []string{"--sse-after", "1s"}, // so that the check of a call that lasts does not last
	},
	{
		folder: "go",
		modes: []mode{
			{"probing", results.Modern}, legacy,
			{"2025-06-18", "2025-06-18"}, {"2025-03-26", "2025-03-26"}, {"2024-11-05", "2024-11-05"},
		},
		checks: checks,
	},
	{folder: "typescript/v1", modes: []mode{legacy}, checks: checks},
	{folder: "typescript/v2", modes: []mode{legacy, auto}, checks: checks},
	{folder: "python/v1", modes: []mode{legacy}, checks: checks},
	{folder: "python/v2", modes: []mode{legacy, auto}, checks: checks},
	{folder: "rust", modes: []mode{legacy, auto}, checks: checks},
	{folder: "inspector", modes: []mode{legacy, auto}, checks: checks},
}

// farSides are what every client is tried with behind the gateway.
var farSides = []string{results.Sessions, results.Stateless}

// providers are the folders of the servers of the five kinds; each is tried by a client of each of these revisions.
var (
	providers = []string{"provider-rust", "provider-python"}
	tried     = []string{newestWithSessions, results.Modern}
)

// attempt is one case: a client against a far side, or a provider against a client.
type attempt struct {
	folder   string
	mode     mode
	farSide  string // empty: the folder is a provider's
	checks   []string
	serve    []string
	provider bool
}

func (a attempt) name() string {
	if a.provider {
		return a.folder + "/" + a.mode.name
	}
	return a.folder + "/" + a.mode.name + "/" + a.farSide
}

func attempts() []attempt {
	var all []attempt
	for _, p := range clients {
		for _, m := range p.modes {
			for _, farSide := range farSides {
				all = append(all, attempt{folder: p.folder, mode: m, farSide: farSide, checks: p.checks, serve: p.serve})
			}
		}
	}
	for _, folder := range providers {
		for _, revision := range tried {
			all = append(all, attempt{folder: folder, mode: mode{revision, revision}, provider: true})
		}
	}
	return all
}
