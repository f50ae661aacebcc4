//go:build linux

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/diverge-network/gateway/bench/child"
	"github.com/diverge-network/gateway/bench/suite"
)

func main() {
	child.Main()
	p := suite.Short
	if len(os.Args) > 2 {
		p = suite.Full
	}
	program := os.Args[1]
	t := time.Now()
	_ = program
	in := suite.Install("bench/peers")
	fmt.Println(in, time.Since(t))
	show(suite.MeasurePeers(p, program, in))
	fmt.Println(time.Since(t))
}

func show(r interface{ Print() }, err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r.Print()
}
