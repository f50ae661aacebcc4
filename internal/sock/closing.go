package sock

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// closing is the error of a call of raw, which is net.ErrClosed if the
// connection was closed. Package os has an error of its own for that, which it
// does not export.
func closing(raw syscall.RawConn, err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if raw.Control(func(uintptr) {}) != nil {
		return net.ErrClosed
	}
	return err
}
