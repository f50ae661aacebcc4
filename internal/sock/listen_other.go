//go:build !linux

package sock

import "net"

// own leaves accepting to package net.
func own(ln net.Listener) (net.Listener, error) { return ln, nil }

// Spare is for Linux only.
func Spare(net.Listener, int) {}
