//go:build !unix

package upstream

import "os/exec"

func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have exited, which is what was wanted
}
