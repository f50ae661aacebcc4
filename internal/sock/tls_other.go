//go:build !unix

package sock

import "syscall"

func writable(syscall.RawConn) (bool, error) { return true, nil }
