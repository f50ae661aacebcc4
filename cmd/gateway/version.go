package main

import (
	"fmt"
	"runtime/debug"
)

// Set by the linker where the build has no repository to read them from (the container image).
var (
	version  string
	revision string
)

type buildInfo struct{ version, revision, golang string }

// readBuild is what the linker was told, and for the rest what the Go command recorded.
func readBuild() buildInfo {
	b := buildInfo{version: version, revision: revision, golang: "unknown"}
	dirty := false
	if info, ok := debug.ReadBuildInfo(); ok {
		b.golang = info.GoVersion
		if b.version == "" {
			b.version = info.Main.Version
		}
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				if b.revision == "" {
					b.revision = setting.Value
				}
			case "vcs.modified":
				dirty = setting.Value == "true"
			}
		}
	}
	if b.version == "" {
		b.version = "(devel)"
	}
	if b.revision == "" {
		b.revision = "unknown"
	} else if dirty && revision == "" {
		b.revision += "-dirty"
	}
	return b
}

type versionCmd struct{}

func (versionCmd) Run(w *world) error {
	b := readBuild()
	_, err := fmt.Fprintf(w.stdout, "gateway %s\nrevision %s\n%s\n", b.version, b.revision, b.golang)
	return err
}
