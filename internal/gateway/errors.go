package gateway

import (
	"errors"
	"fmt"
	"syscall"
)

// ConfigError says which setting cannot be meant: only whoever wrote it can put it right.
type ConfigError struct {
	Flag    string // as on the command line, "--inside"
	Value   string
	Problem string // reads on from the value
	Err     error  // the cause, if there is one
}

func (e *ConfigError) Error() string {
	text := fmt.Sprintf("%s: %q %s", e.Flag, e.Value, e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *ConfigError) Unwrap() error { return e.Err }

// ListenError says which listener could not be opened, and what can be done.
type ListenError struct {
	Flag    string
	Address string
	Err     error
}

func (e *ListenError) Error() string {
	advice := ""
	var cause error = e.Err
	var errno syscall.Errno
	if errors.As(e.Err, &errno) {
		cause = errno
		switch errno {
		case syscall.EADDRINUSE:
			advice = ": another program (another gateway?) listens there; end it, or choose another port with " + e.Flag
		case syscall.EACCES, syscall.EPERM:
			advice = ": choose a port above 1023 with " + e.Flag
		case syscall.EADDRNOTAVAIL:
			advice = ": this machine has no such address"
		}
	}
	return fmt.Sprintf("%s: cannot listen on %s: %v%s", e.Flag, e.Address, cause, advice)
}

func (e *ListenError) Unwrap() error { return e.Err }
