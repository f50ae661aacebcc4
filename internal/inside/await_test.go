package inside

import (
	"bytes"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"
)

// await gives other goroutines way until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !holds(); runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// lockedBuffer is a log that is written and read at once.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

func jsonLogger(l *lockedBuffer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
