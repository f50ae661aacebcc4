//go:build !unix

package stack

import "os/exec"

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
