//go:build !linux

// Command report needs Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "report: it needs Linux: epoll, /proc, and raw descriptors")
	os.Exit(1)
}
