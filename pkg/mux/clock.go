package mux

import "time"

// Clock is what the mux knows of time.
type Clock interface {
	// AfterFunc calls f once, in a goroutine of its own, when d has passed. It
	// is called under a container's lock: it must neither block nor call f.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call to come. *time.Timer is one.
type Timer interface {
	// Stop prevents the call, if it can; a call that comes nevertheless is harmless.
	Stop() bool
}

type systemClock struct{}

func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
