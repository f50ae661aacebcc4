package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that are given to nobody's outgoing connections, by the usual ip_local_port_range: while the gateway is down
// between two lives, one of the thousands of connections would otherwise get one of its ports.
const (
	firstPort = 20_000
	ports     = 10_000
)

// freeAddresses are loopback addresses that nobody listens on now.
func freeAddresses(n int) ([]string, error) {
	var config net.ListenConfig
	var found []string
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		l, err := config.Listen(context.Background(), "tcp", address)
		if err != nil {
			continue
		}
		defer l.Close() // not before all are found: each is another
		if found = append(found, address); len(found) == n {
			return found, nil
		}
	}
	return nil, errors.New("no free ports on loopback")
}
