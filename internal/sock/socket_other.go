//go:build !linux

package sock

import (
	"net"
	"syscall"
)

// rawOfSocket finds no socket of ours: package net's are as good here.
func rawOfSocket(net.Conn) (raw syscall.RawConn, ours bool) { return nil, false }
