//go:build !linux

package sock

import (
	"errors"
	"net"
	"time"
)

// listenConfig leaves the options to package net, which sets them on each
// accepted connection.
func listenConfig() net.ListenConfig {
	return net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
	}}
}

func setUserTimeout(uintptr, time.Duration) error { return errors.ErrUnsupported }
