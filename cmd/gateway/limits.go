package main

import "github.com/diverge-network/gateway/internal/gateway"

// limitFlags are how much there may be at once.
type limitFlags struct {
	MaxAsks       int `help:"Requests in flight of one container [${default}]." default:"256" env:"GATEWAY_MAX_ASKS" placeholder:"COUNT"`
	MaxWaiting    int `help:"Of those, how many may wait for a server that is not there [${default}]." default:"256" env:"GATEWAY_MAX_WAITING" placeholder:"COUNT"`
	MaxAsksTotal  int `help:"Requests in flight of all containers [${default}]." default:"100000" env:"GATEWAY_MAX_ASKS_TOTAL" placeholder:"COUNT"`
	MaxStreams    int `help:"Event streams of one container [${default}]." default:"256" env:"GATEWAY_MAX_STREAMS" placeholder:"COUNT"`
	MaxContainers int `help:"Containers at once; before a new one is refused, those that do nothing are forgotten [${default}]." default:"50000" env:"GATEWAY_MAX_CONTAINERS" placeholder:"COUNT"`
}

func (f *limitFlags) limits() gateway.Limits {
	return gateway.Limits{
		Asks:       f.MaxAsks,
		Waiting:    f.MaxWaiting,
		AsksTotal:  f.MaxAsksTotal,
		Streams:    f.MaxStreams,
		Containers: f.MaxContainers,
	}
}
