package limit

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// relief is how long a limit must not have been hit for the next time to be news.
const relief = time.Minute

// Alarm counts how often a limit was hit, and logs when that begins: once, until
// it was not hit for a minute. Its methods may be called from many goroutines. The
// zero Alarm counts, and logs nothing.
type Alarm struct {
	log  *slog.Logger
	text string
	args []any
	hits atomic.Uint64
	last atomic.Int64 // when it was hit last, in Unix nanoseconds; 0: never
}

// NewAlarm returns an Alarm that logs this at warn.
func NewAlarm(log *slog.Logger, text string, args ...any) *Alarm {
	return &Alarm{log: log, text: text, args: args}
}

// Hit says that the limit was hit now.
func (a *Alarm) Hit() { a.hit(time.Now()) }

func (a *Alarm) hit(now time.Time) {
	a.hits.Add(1)
	last := a.last.Swap(now.UnixNano())
	if a.log != nil && (last == 0 || now.UnixNano()-last > int64(relief)) {
		a.log.Warn(a.text, a.args...)
	}
}

// Hits is how often the limit was hit.
func (a *Alarm) Hits() uint64 { return a.hits.Load() }
