package main

import (
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMetricsAreReadAndFaultsFound(t *testing.T) {
	m, err := parseMetrics(strings.NewReader(`# HELP x y
gateway_sockets_open{path="requests"} 3
gateway_sockets_open{path="notifications"} 2
gateway_sockets_opened_total{path="requests"} 40
go_memstats_heap_alloc_bytes 1.5e+06
gateway_panics_total{where="ops"} 0
gateway_panics_total{where="timer"} 1
gateway_refusals_total{listener="inside",reason="other"} 2
gateway_notifications_dropped_total{reason="closed"} 5
gateway_notifications_dropped_total{reason="room"} 4
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.sum("gateway_sockets_open"); got != 5 {
		t.Errorf("sockets: %v", got)
	}
	if got := m.sum("go_memstats_heap_alloc_bytes"); got != 1.5e6 {
		t.Errorf("heap: %v", got)
	}
	want := []string{
		`gateway_notifications_dropped_total{reason="room"} is 4`,
		"gateway_panics_total is 1",
		`gateway_refusals_total{listener="inside",reason="other"} is 2`,
	}
	if got := m.odd(false); !reflect.DeepEqual(got, want) {
		t.Errorf("odd: %q", got)
	}
	if _, err := parseMetrics(strings.NewReader("a b\n")); err == nil {
		t.Error("a value that is none was read")
	}
}

func TestALevelIsTheMedianOfTheNearest(t *testing.T) {
	var samples []sample
	for i, rss := range []int64{10, 90, 30, 20, 70} {
		samples = append(samples, sample{at: time.Duration(i) * time.Second, gateway: usage{rss: rss}})
	}
	rss := func(s sample) int64 { return s.gateway.rss }
	for at, want := range map[time.Duration]int64{0: 30, 2 * time.Second: 30, time.Hour: 30, 3 * time.Second: 30} {
		if got := near(samples, at, rss); got != want {
			t.Errorf("at %v: %d, want %d", at, got, want)
		}
	}
	if got := near(samples[:1], time.Hour, rss); got != 10 {
		t.Errorf("of one: %d", got)
	}
	if got := near(nil, 0, rss); got != 0 {
		t.Errorf("of none: %d", got)
	}
	if !flat(100, 115) || flat(100, 116) || !flat(100, 10) {
		t.Error("flat is up to 15 % more")
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	u, err := usageOf(os.Getpid())
	if err != nil || u.rss < 1<<20 || u.descriptors < 3 {
		t.Errorf("%+v, %v", u, err)
	}
}
