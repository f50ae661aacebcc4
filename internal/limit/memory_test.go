package limit

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestMemoryIsShortFrom90To85PerCent(t *testing.T) {
	var log strings.Builder
	m := NewMemory(1000, slog.New(slog.NewTextHandler(&log, nil)))
	inUse, garbage, collections := int64(0), int64(0), 0
	m.inUse = func() int64 { return inUse + garbage }
	m.collect = func() { collections++; garbage = 0 }
	now := time.Unix(1_700_000_000, 0)
	for i, step := range []struct {
		inUse, garbage int64
		after          time.Duration
		short          bool
		collections    int
	}{
		{899, 0, 0, false, 0},
		{500, 450, 0, false, 1},               // what is garbage does not count
		{500, 450, lookEvery, true, 1},        // but it is not looked for again at once
		{500, 390, lookEvery, true, 1},        // above 85
		{500, 340, lookEvery, false, 1},       // below
		{900, 0, collectEvery, true, 2},       // all of it is in use
		{860, 30, collectEvery, true, 3},      // it is collected again and again
		{840, 300, collectEvery, false, 4},    // until it is less
		{840, 0, 10 * collectEvery, false, 4}, // and then no more
	} {
		inUse, garbage = step.inUse, step.garbage
		now = now.Add(step.after)
		if m.look(now); m.Short() != step.short || collections != step.collections {
			t.Fatalf("step %d: short %v after %d collections; want %v after %d", i, m.Short(), collections, step.short, step.collections)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 4 {
		t.Errorf("%d warnings of two times:\n%s", n, &log)
	}
}

func TestNoMemoryLimitIsNeverReached(t *testing.T) {
	var m *Memory
	if m.Short() {
		t.Error("short of what?")
	}
}

func TestWatchEndsWithItsOwner(t *testing.T) {
	m := NewMemory(1<<40, slog.New(slog.DiscardHandler))
	stopping, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		m.Watch(stopping)
	}()
	close(stopping)
	<-ended
	if InUse() <= 0 {
		t.Error("nothing is in use")
	}
}

func TestTheLeastLimitOfTheCgroupsCounts(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":                      {nil, 0},
		"version 2":                 {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 1000},
		"version 2, of a parent":    {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "900\n"}, 900},
		"version 2, in a container": {map[string]string{"proc/self/cgroup": "0::/../host/path\n", "sys/fs/cgroup/memory.max": "700\n"}, 700},
		"version 1":                 {map[string]string{"proc/self/cgroup": "5:cpu:/\n4:memory:/x\n0::/\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "800\n"}, 800},
		"version 1, none":           {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"what is no number":         {map[string]string{"proc/self/cgroup": "0::/\nnonsense\n", "sys/fs/cgroup/memory.max": "lots\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range test.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := cgroupLimit(root); got != test.want {
				t.Errorf("the limit is %d, want %d", got, test.want)
			}
		})
	}
}

func TestTheMemoryOfTheMachine(t *testing.T) {
	for text, want := range map[string]int64{"MemFree: 7 kB\nMemTotal:       24029 kB\n": 24029 << 10, "": 0, "MemTotal: many kB\n": 0} {
		if got := memoryOfMachine(fstest.MapFS{"meminfo": {Data: []byte(text)}}); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}
