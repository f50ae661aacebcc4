package mux

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	strict = true
	// The command line, parsed by m.Run, has the last word.
	for name, value := range map[string]string{"rapid.checks": "4000", "rapid.steps": "80"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
