// Command wire is a client of no SDK: it speaks the revision that it is told to, says what no SDK would, and looks at what comes
// back byte by byte. Its checks are what docs/compatibility.md calls features.
//
//	run --url URL --mode 2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28
package main

import (
	"context"
	"flag"
	"os"
	"slices"
	"time"

	"github.com/diverge-network/gateway/test/interop/report"
)

const (
	within = 60 * time.Second
	each   = 15 * time.Second // a check
	atOnce = 10 * time.Second // what should happen at once

	modern = "2026-07-28"
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern}

func main() {
	url := flag.String("url", "", "the MCP endpoint")
	mode := flag.String("mode", "", "the revision to speak")
	flag.Parse()
	if !slices.Contains(revisions, *mode) || *url == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	e := &endpoint{url: *url, revision: *mode}
	report.Print(os.Stdout, report.Line{Client: "no SDK", Version: "-", Mode: *mode, Revision: *mode})
	if !report.Run(os.Stdout, e.checks(ctx)) {
		os.Exit(1)
	}
}

func (e *endpoint) checks(ctx context.Context) []report.Check {
	var list []report.Check
	for _, check := range []struct {
		name, about string
		do          func(context.Context) error
	}{
		{"handshake", "initialize, or server/discover, agrees on the revision", e.handshake},
		{"list", "tools/list is read page by page", e.list},
		{"call", "tools/call; ids come back byte for byte", e.call},
		{"read", "resources/read; an unknown resource has this revision's error", e.read},
		{"templates", "resources/templates/list has none", e.templates},
		{"result hints", "results say resultType, ttlMs, cacheScope and who served them", e.hints},
		{"progress", "progress reaches the request that asked for it, before its answer, with its own token", e.progress},
		{"long call", "the response to a call that lasts becomes an event stream", e.long},
		{"batch", "an array of requests is answered with an array", e.batch},
		{"cancel", "notifications/cancelled reaches the server, and the response ends without an answer", e.cancel},
		{"disconnect cancels", "a request whose response stream is closed is cancelled", e.disconnect},
		{"stream", "a GET event stream hears what the server says by itself", e.stream},
		{"subscribe", "subscriptions/listen hears what was asked for, with its own id", e.subscribe},
		{"ping", "ping is answered with an empty result", e.ping},
		{"unknown method", "a method that is not served is refused with -32601, in this revision's way", e.unknown},
		{"version", "a revision that is not served is refused; in the stateless one, so is a header that contradicts the request", e.version},
		{"media types", "a body that is no JSON gets 415, a client that takes no event stream 406", e.media},
		{"web pages", "a web page of another origin is refused with 403", e.origin},
		{"session", "a session's id is needed, DELETE ends the session", e.sessions},
	} {
		list = append(list, report.Check{Name: check.name, About: check.about, Do: func() error {
			ctx, cancel := context.WithTimeout(ctx, each)
			defer cancel()
			return check.do(ctx)
		}})
	}
	return list
}
