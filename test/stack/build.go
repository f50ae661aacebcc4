package stack

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// The programs that Build can build.
const (
	Gateway    = "./cmd/gateway"
	Upstream   = "./test/interop/upstream"
	Everything = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
)

// Build builds a program of this module, or of one that it requires, into dir and returns the file.
func Build(ctx context.Context, root, dir, program string) (string, error) {
	file := filepath.Join(dir, filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, program)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", program, err, out)
	}
	return file, nil
}

// Root is the folder of the module that the working directory is in.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("run this within the module: go list -m: %w", err)
	}
	return string(out[:len(out)-1]), nil
}
