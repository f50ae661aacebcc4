//go:build !linux

package stack

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }
