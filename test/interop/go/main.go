// Command go is a client of the official Go SDK that makes the checks of ../README.md.
//
//	run --url URL --mode probing|legacy|2025-06-18|2025-03-26|2024-11-05
//
// probing is how the SDK connects by itself: it asks by server/discover, and falls back to initialize. legacy begins with
// initialize, for the newest revision that has it. A revision is asked for as it stands.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/diverge-network/gateway/test/interop/report"
)

const within = 60 * time.Second

// revisions is what each mode asks for; empty leaves it to the SDK.
var revisions = map[string]string{
	"probing":    "",
	"legacy":     "2025-11-25",
	"2025-06-18": "2025-06-18",
	"2025-03-26": "2025-03-26",
	"2024-11-05": "2024-11-05",
}

func main() {
	url := flag.String("url", "", "the MCP endpoint")
	mode := flag.String("mode", "probing", "how to connect")
	flag.Parse()
	revision, known := revisions[*mode]
	if !known || *url == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c := newClient()
	if err := c.connect(ctx, *url, revision); err != nil {
		report.Print(os.Stdout, report.Line{Client: "go-sdk", Version: version(), Mode: *mode})
		report.Run(os.Stdout, []report.Check{{Name: "connect", Do: func() error { return err }}})
		os.Exit(1)
	}
	report.Print(os.Stdout, report.Line{Client: "go-sdk", Version: version(), Mode: *mode, Revision: c.revision()})
	if !report.Run(os.Stdout, c.checks(ctx, revision)) {
		os.Exit(1)
	}
}

// version is the SDK's.
func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, m := range build.Deps {
		if m.Path == "github.com/modelcontextprotocol/go-sdk" {
			return m.Version[len("v"):]
		}
	}
	return fmt.Sprintf("of %s", build.Main.Version)
}
