package sock

import (
	"context"
	"net"
	"time"
)

// How the kernel finds out that a peer is dead (protocol W4): a silent socket is
// probed after keepAliveIdle and given up a minute after the peer last spoke.
const (
	keepAliveIdle     = 30 * time.Second
	keepAliveInterval = 10 * time.Second
	keepAliveCount    = 3

	// UserTimeout is what accepted sockets begin with, as SetUserTimeout.
	UserTimeout = time.Minute
)

// Listen listens on the TCP address addr ("host:port"; port 0 picks one). Dead
// peers of its connections are found by TCP keep-alive and, on Linux,
// TCP_USER_TIMEOUT (protocol W4). What it accepts is no *net.TCPConn, but a
// syscall.Conn as that is. ctx bounds the look-up of a host name. Errors
// are package net's, which name the address.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	config := listenConfig()
	// Package net asks for Multipath TCP by default, which nobody here speaks: it
	// makes accepting and what follows 2 % slower.
	config.SetMultipathTCP(false)
	ln, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return own(ln)
}
