package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

// orNever is a duration or "never" (mux.Never).
type orNever time.Duration

func (r *orNever) UnmarshalText(text []byte) error {
	if string(text) == "never" {
		*r = orNever(mux.Never)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is none of: a duration such as 1s or 500ms, 0 (at once), never", text)
	}
	*r = orNever(d)
	return nil
}

// byteSize is a number of bytes: "1048576", "512KiB", "64MiB", "1GiB".
type byteSize int

var byteUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"", 1},
}

func (b *byteSize) UnmarshalText(text []byte) error {
	for _, unit := range byteUnits {
		digits, found := strings.CutSuffix(string(text), unit.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.bytes || n*unit.bytes > math.MaxInt {
			break
		}
		*b = byteSize(n * unit.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size: use a number of bytes, or one with KiB, MiB or GiB such as 64MiB", text)
}
