package main

import (
	"math/rand/v2"
	"regexp"
	"time"
)

// Sides of the gateway on which a toxiproxy lies.
const (
	clientSide   = "client"
	providerSide = "provider"
)

// injection is one toxic of a round.
type injection struct {
	side  string
	toxic poison
}

// kind is a kind of fault, and what it allows.
type kind struct {
	name  string
	share int // of all exchanges, in parts

	fails   bool // a caller may be told an error
	repeats bool // a call may be carried out more than once
	breaks  bool // connections end by it
	answers bool // only for containers that a gateway answer serves

	inject func(*rand.Rand) []injection // what lies on the lane's links; nil: nothing
	strike func(*lane, *strike)         // what happens to the lane's processes; nil: nothing
	global func(*trial, *rand.Rand)     // what happens to all lanes' gateway; nil: nothing
}

// lasting is how long a fault of links lasts.
func lasting(r *rand.Rand) time.Duration { return between(r, 50, 600) }

func between(r *rand.Rand, least, most int) time.Duration {
	return time.Duration(least+r.IntN(most-least)) * time.Millisecond
}

func either(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return upstreamward
	}
	return downstreamward
}

func latency(r *rand.Rand) (string, map[string]any) {
	return "latency", map[string]any{"latency": r.IntN(150), "jitter": r.IntN(100)}
}

func bandwidth(r *rand.Rand) (string, map[string]any) {
	return "bandwidth", map[string]any{"rate": 8 + r.IntN(120)} // KB/s
}

func slicer(r *rand.Rand) (string, map[string]any) {
	size := 1 + r.IntN(40)
	return "slicer", map[string]any{"average_size": size, "size_variation": r.IntN(size), "delay": r.IntN(100)}
}

func slowClose(r *rand.Rand) (string, map[string]any) {
	return "slow_close", map[string]any{"delay": 50 + r.IntN(800)}
}

// halfOpen drops what is said, and ends the connection after a while.
func halfOpen(r *rand.Rand) (string, map[string]any) {
	return "timeout", map[string]any{"timeout": 100 + r.IntN(1200)}
}

func resetPeer(r *rand.Rand) (string, map[string]any) {
	return "reset_peer", map[string]any{"timeout": r.IntN(40)}
}

func limitData(r *rand.Rand) (string, map[string]any) {
	return "limit_data", map[string]any{"bytes": r.IntN(700)}
}

type recipe func(*rand.Rand) (string, map[string]any)

var (
	shaping  = []recipe{latency, bandwidth, slicer, slowClose}
	breaking = []recipe{halfOpen, resetPeer, limitData}
)

func (make recipe) on(r *rand.Rand, side, stream string) injection {
	name, attributes := make(r)
	return injection{side, poison{Type: name, Stream: stream, Attributes: attributes}}
}

// bothWays has a recipe on a side's link, in both directions.
func bothWays(make recipe, sides ...string) func(*rand.Rand) []injection {
	return func(r *rand.Rand) (all []injection) {
		for _, side := range sides {
			all = append(all, make.on(r, side, upstreamward), make.on(r, side, downstreamward))
		}
		return all
	}
}

// oneWay has a recipe on a side's link, in one direction.
func oneWay(make recipe, side string) func(*rand.Rand) []injection {
	return func(r *rand.Rand) []injection { return []injection{make.on(r, side, either(r))} }
}

// mixed has one to three of all recipes anywhere.
func mixed(r *rand.Rand) (all []injection) {
	recipes := append(append([]recipe{}, shaping...), breaking...)
	r.Shuffle(len(recipes), func(i, j int) { recipes[i], recipes[j] = recipes[j], recipes[i] })
	for _, make := range recipes[:1+r.IntN(3)] {
		side := clientSide
		if r.IntN(2) == 0 {
			side = providerSide
		}
		all = append(all, make.on(r, side, either(r)))
	}
	return all
}

var kinds = []*kind{
	{name: "none", share: 4},
	{name: "latency and jitter", share: 5, inject: bothWays(latency, clientSide, providerSide)},
	{name: "bandwidth", share: 5, inject: bothWays(bandwidth, clientSide, providerSide)},
	{name: "slicing", share: 6, inject: bothWays(slicer, clientSide, providerSide)},
	{name: "slow close", share: 4, inject: bothWays(slowClose, clientSide, providerSide)},
	{name: "half-open, client", share: 5, fails: true, breaks: true, inject: oneWay(halfOpen, clientSide)},
	{name: "half-open, provider", share: 6, repeats: true, breaks: true, inject: oneWay(halfOpen, providerSide)},
	{name: "reset, client", share: 8, fails: true, breaks: true, inject: oneWay(resetPeer, clientSide)},
	{name: "reset, provider", share: 8, repeats: true, breaks: true, inject: oneWay(resetPeer, providerSide)},
	{name: "cut short, client", share: 8, fails: true, breaks: true, inject: oneWay(limitData, clientSide)},
	{name: "cut short, provider", share: 8, repeats: true, breaks: true, inject: oneWay(limitData, providerSide)},
	{name: "mixed", share: 15, fails: true, repeats: true, breaks: true, inject: mixed},
	{name: "provider killed before", share: 2, repeats: true, breaks: true, answers: true, strike: killBefore},
	{name: "provider killed while", share: 2, repeats: true, breaks: true, answers: true, strike: killWhile},
	{name: "provider killed after", share: 2, repeats: true, breaks: true, answers: true, strike: killAfter},
	{name: "MCP server restarted", share: 2, fails: true, breaks: true, answers: true, global: (*trial).restartUpstream},
	{name: "gateway killed", share: 4, fails: true, breaks: true, global: (*trial).killGateway},
	{name: "gateway terminated", share: 4, fails: true, breaks: true, global: (*trial).terminateGateway},
	{name: "both killed", share: 2, fails: true, repeats: true, breaks: true, global: (*trial).killAll},
}

// kindsNamed are the kinds whose names match, walks last.
func kindsNamed(like *regexp.Regexp) (named []*kind) {
	for _, k := range kinds {
		if like.MatchString(k.name) {
			named = append(named, k)
		}
	}
	for _, w := range walks {
		if like.MatchString(w.name) {
			named = append(named, &w.kind)
		}
	}
	return named
}
