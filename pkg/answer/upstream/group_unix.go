//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own: a terminal's interrupt does not reach it before it is told to end, and
// its children end with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd)      { signalGroup(cmd, syscall.SIGKILL) }

func signalGroup(cmd *exec.Cmd, signal syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, signal) // ESRCH: nobody is left, which is what was wanted
}
