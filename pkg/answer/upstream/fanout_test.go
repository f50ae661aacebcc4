//go:build !race

package upstream

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/pkg/answer"
)

// idleContainer is the most that a container with an open path may cost while nothing happens, without the goroutine that
// serves the path.
const idleContainer = 1 << 10

func TestAnIdleContainerOfASharedIsSmall(t *testing.T) {
	const containers = 2000
	s := openShared(t, nil, Config{})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	send := func([]byte) error { return nil }
	seats, paths := make([]answer.Handler, containers), make([]*path, containers)
	before := heap()
	for i := range containers {
		seats[i] = s.For("container")
	}
	light := (heap() - before) / containers
	for i := range containers {
		paths[i] = s.feed.open(seats[i].(*seat), send)
	}
	each := (heap() - before) / containers
	t.Logf("%d B for a Handler, %d B with its path", light, each)
	if light > 128 || each > idleContainer {
		t.Errorf("an idle container takes %d bytes, %d of them its Handler; the bounds are %d and 128", each, light, idleContainer)
	}
	for _, p := range paths {
		s.feed.close(p)
	}
}

func BenchmarkFanOut(b *testing.B) {
	for _, containers := range []int{1, 200, 3000} {
		b.Run(fmt.Sprint(containers), func(b *testing.B) {
			s, err := NewShared(Config{URL: "http://127.0.0.1:1/mcp", Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			var waiting sync.WaitGroup
			send := func([]byte) error { waiting.Done(); return nil }
			paths := make([]*path, containers)
			for i := range paths {
				paths[i] = s.feed.open(s.For("c").(*seat), send)
			}
			b.ReportAllocs()
			for b.Loop() {
				waiting.Add(containers)
				s.feed.publish(toolsChanged)
				waiting.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*containers), "ns/path")
			for _, p := range paths {
				s.feed.close(p)
			}
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

func BenchmarkTokenReplacedAndRestored(b *testing.B) {
	s, served := &seat{}, &session{}
	t := &tokens{waiting: map[uint64]token{}}
	params := []byte(`{"name":"echo","arguments":{"text":"some text","n":[1,2,3]},"_meta":{"progressToken":17}}`)
	b.ReportAllocs()
	for b.Loop() {
		a, err := newAsked(params)
		if err != nil {
			b.Fatal(err)
		}
		var forget func()
		a.token, forget = t.issue(s, a.given)
		if _, err := served.outgoing(a); err != nil {
			b.Fatal(err)
		}
		if to, _ := t.restore(fmt.Appendf(nil, `{"progressToken":%d,"progress":1}`, t.last)); to != s {
			b.Fatal("not restored")
		}
		forget()
	}
}
