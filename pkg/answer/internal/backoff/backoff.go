// Package backoff spaces out attempts: exponential growth to a cap, with full jitter, so that many clients that lost
// the same peer do not come back in step.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Defaults for a Backoff whose fields are zero.
const (
	DefaultBase = 100 * time.Millisecond
	DefaultCap  = 5 * time.Second
)

// Backoff yields the waits before successive attempts. The zero value is ready to use. It is not safe for concurrent
// use.
type Backoff struct {
	Base   time.Duration  // upper bound of the first wait; 0: DefaultBase
	Cap    time.Duration  // upper bound of every wait; 0: DefaultCap
	Jitter func() float64 // in [0,1); nil: math/rand/v2

	attempts int
}

// Next is the wait before the next attempt: uniform between zero and the bound, which doubles with every call.
func (b *Backoff) Next() time.Duration {
	base, limit, jitter := b.Base, b.Cap, b.Jitter
	if base == 0 {
		base = DefaultBase
	}
	if limit == 0 {
		limit = DefaultCap
	}
	if jitter == nil {
		jitter = rand.Float64
	}
	bound := base
	for range b.attempts {
		if bound >= limit {
			break
		}
		bound *= 2
	}
	b.attempts++
	return time.Duration(jitter() * float64(min(bound, limit)))
}

// Reset makes the next wait short again.
func (b *Backoff) Reset() { b.attempts = 0 }

// Wait waits for d or until ctx ends, and reports whether ctx is still alive.
//
// No timer for a wait of nothing: in a synctest bubble, goroutines that find timers due at the same moment share one race
// context, and Go 1.26's race detector crashes on it.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
