//go:build linux && !race

package answer

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// What an idle container may cost a fleet, in bytes of Go heap and stack and in goroutines, with a Handler that costs
// nothing: before its first ask, with /requests alone, and after it, with the notifications path too.
const (
	mostBeforeAsk, mostGoroutinesBeforeAsk = 8 << 10, 1
	mostAfterAsk, mostGoroutinesAfterAsk   = 20 << 10, 3
)

func TestAnIdleContainerOfAFleetIsSmall(t *testing.T) {
	g := startGateway(t, many)
	var listening, notifying, answered atomic.Int64
	changed := make(chan struct{}, 1)
	change := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	await := func(n *atomic.Int64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wstest.Patience)
		defer cancel()
		for n.Load() < many {
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatalf("%d of %d", n.Load(), many)
			}
		}
	}
	h := handler{
		answer: func(context.Context, codec.Kind, []byte) ([]byte, error) { return []byte(`{"content":[]}`), nil },
		notify: func(ctx context.Context, _ func([]byte) error) error {
			notifying.Add(1)
			change()
			<-ctx.Done()
			return nil
		},
	}
	f := &Fleet{
		Gateway: "ws://" + g.addr,
		Logger:  quiet,
		Handler: func(string) (Handler, func(), error) { return h, nil, nil },
		Hooks: Hooks{
			Connected: func() { listening.Add(1); change() },
			Exchanged: func(codec.Kind, Outcome, time.Duration) { answered.Add(1); change() },
		},
	}

	before, goroutines := footprint(), runtime.NumGoroutine()
	began := time.Now()
	stop := runFleet(t, f)
	await(&listening)
	took := time.Since(began)
	bytes, each := (footprint()-before)/many, float64(runtime.NumGoroutine()-goroutines)/many
	t.Logf("%d containers were connected in %v; idle, each costs %d B and %.2f goroutines", many, took.Round(time.Millisecond), bytes, each)
	if bytes > mostBeforeAsk || each > mostGoroutinesBeforeAsk+0.1 {
		t.Errorf("limits %d B and %d goroutines", mostBeforeAsk, mostGoroutinesBeforeAsk)
	}

	began = time.Now()
	g.visit(t)
	await(&answered)
	await(&notifying)
	took = time.Since(began)
	bytes, each = (footprint()-before)/many, float64(runtime.NumGoroutine()-goroutines)/many
	t.Logf("all answered a call and opened their notifications in %v; idle, each costs %d B and %.2f goroutines", took.Round(time.Millisecond), bytes, each)
	if bytes > mostAfterAsk || each > mostGoroutinesAfterAsk+0.1 {
		t.Errorf("limits %d B and %d goroutines", mostAfterAsk, mostGoroutinesAfterAsk)
	}
	stop()
}

// footprint is the heap and the stacks in use, in bytes.
func footprint() int {
	var least int
	for i := range 3 { // pools are emptied by the second collection
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		if size := int(now.HeapAlloc + now.StackInuse); i == 0 || size < least {
			least = size
		}
	}
	return least
}
