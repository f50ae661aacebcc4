package limit

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// The shares of the memory limit at which new work is refused, and taken again.
const (
	pressedAt  = 90 // per cent
	relievedAt = 85
)

const (
	// lookEvery is how often the memory in use is looked at: what may be held for
	// messages, half of the limit, is counted as it comes.
	lookEvery = 100 * time.Millisecond
	// collectEvery is the least time between two collections that the watch asks
	// for, which tell what is in use from what only was.
	collectEvery = time.Second
)

// Memory knows whether the process is short of memory: whether what the runtime
// uses is near the limit that it was given (debug.SetMemoryLimit). While it is, new
// work is to be refused, so that what is under way can end before the kernel ends
// the process. Its methods may be called from many goroutines; a nil Memory is
// never short.
type Memory struct {
	limit int64
	log   *slog.Logger

	// Replaced by tests.
	inUse   func() int64
	collect func() // gives back what is not in use, pools too

	collected time.Time // by Look

	_       [64]byte
	pressed atomic.Bool // read by every request, and seldom written
	_       [64]byte
}

// NewMemory returns a Memory of a process that may use so many bytes. Watch has to
// be running for it to know anything.
func NewMemory(limit int64, log *slog.Logger) *Memory {
	return &Memory{limit: limit, log: log, inUse: InUse, collect: giveBack}
}

// giveBack has the system have what is not in use. Two collections empty pools.
func giveBack() {
	codec.GiveBack()
	runtime.GC()
	debug.FreeOSMemory()
}

// InUse is how many bytes the runtime uses: what it has of the system but for what
// it could give back at once.
func InUse() int64 {
	samples := [...]metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples[:])
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64() - samples[2].Value.Uint64())
}

// Watch looks at the memory in use from time to time, until stopping is closed.
func (m *Memory) Watch(stopping <-chan struct{}) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			m.look(now)
		case <-stopping:
			return
		}
	}
}

// look decides whether memory is short. Much of what is in use may be garbage, and
// rest in pools: before it counts it is collected, unless that was done just now;
// and while memory is short it is again and again, as nothing else may come to ask
// for it.
func (m *Memory) look(now time.Time) {
	used, pressed := m.inUse(), m.pressed.Load()
	if (pressed || m.reaches(used, pressedAt)) && now.Sub(m.collected) >= collectEvery {
		m.collected = now
		m.collect()
		used = m.inUse()
	}
	switch {
	case !pressed && m.reaches(used, pressedAt):
		m.pressed.Store(true)
		m.log.Warn("memory is short: new requests, event streams and containers are refused, what is under way goes on; give the process more, or lower --max-buffered-total",
			"used", used, "limit", m.limit)
	case pressed && !m.reaches(used, relievedAt):
		m.pressed.Store(false)
		m.log.Warn("memory is no longer short: new requests are taken again", "used", used, "limit", m.limit)
	}
}

func (m *Memory) reaches(used, percent int64) bool { return used >= m.limit/100*percent }

// Short reports whether new work is to be refused now.
func (m *Memory) Short() bool { return m != nil && m.pressed.Load() }

// Limit is the limit in bytes.
func (m *Memory) Limit() int64 { return m.limit }
