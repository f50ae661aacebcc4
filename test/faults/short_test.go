package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestEveryExchangeUnderFaultsIsAnsweredOnceOrReported is the command in small.
func TestEveryExchangeUnderFaultsIsAnsweredOnceOrReported(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o := options{exchanges: 240, duration: time.Minute, seed: uint64(time.Now().UnixNano()) % 1e9, lanes: 12, stride: 16, program: program,
		only: regexp.MustCompile(`^(none|mixed|cut short, provider|provider killed while|gateway killed|every byte, (answer|client|/requests).*)$`)}
	err := run(t.Context(), o, &out)
	if t.Logf("%s", out.String()); err != nil {
		t.Error(err)
	}
}
