//go:build !unix

package sock

import (
	"errors"
	"syscall"
)

// No connection gets a RawConn here, so that none of these is reached.
const rawWays = false

func readSocket(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }

func tryWrite(syscall.RawConn, []byte, []byte, bool) (int, error) { return 0, errors.ErrUnsupported }

func tryNow(int, []byte) (int, error) { return 0, errors.ErrUnsupported }

func departed(syscall.RawConn) bool { return false }

func unread(syscall.RawConn) bool { return true }

func unacknowledged(syscall.RawConn) (n int, known bool) { return 0, false }
