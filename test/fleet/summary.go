package main

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// summary tells how the run went, and returns the exit status.
func (t *trial) summary(interrupted bool) int {
	print := func(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }
	var r report
	if t.clients != nil {
		r = t.clients.latest()
	}
	print("")
	print("fleet --containers %d --duration %v --rate %v --replace %v --restart=%v --notify %v --container-idle %v --soak=%v --stalled %d",
		t.containers, t.duration, t.rate, t.replace, t.restart, t.notify, t.idle, t.soak, t.stalled)
	print("containers     %d came within %v, %d replaced, watched for %v", r.Up, t.cameIn.Round(100*time.Millisecond), r.Replaced, t.watched.Round(time.Second))
	print("calls          %d: %d failed, %d wrong, %d hung", r.Calls, total(r.Failed), r.Wrong, r.Hung)
	for _, kind := range slices.Sorted(maps.Keys(r.Failed)) {
		print("               %6d  %s", r.Failed[kind], kind)
	}
	if t.upstream != nil {
		print("               the server executed %d", t.upstream.executed.Load())
	}
	print("latency        %v", r.Steady)
	print("               the clients themselves were late by up to %v", r.Late.Round(100*time.Microsecond))
	if t.restart {
		print("               around the restart: %v", r.Restart)
		print("restart        %s", t.restarted)
	}
	print("notifications  %d heard; %d event streams opened again; %d places with gaps where gaps may be", r.Notifications, r.Reopened, len(r.Gaps))
	for _, where := range slices.Sorted(maps.Keys(r.Gaps)) {
		g := r.Gaps[where]
		print("               %6d  containers missed %d to %d %s", g.Containers, g.Least, g.Most, where)
	}
	if t.soak {
		print("stalled        %d event streams at a time that nobody read, of which the gateway has ended %d", t.stalled, r.Stalled)
		print("quiet points   %d, at which the gateway's gauges were what its list and the clients said", t.quiets)
	}
	if t.deaf.most > 0 {
		print("               %d containers with an open stream heard nothing at %v, %d at the last sample",
			t.deaf.most, t.deaf.at.Round(time.Second), t.deaf.last)
	}
	t.levels(interrupted)
	print("warnings logged")
	t.digest.print(t.out)
	// The clients' faults are in their reports.
	count, words := t.faults.all()
	count += r.Faults
	words = append(words, r.Words...)
	print("faults         %d", count)
	for _, w := range words {
		print("  %s", w)
	}
	if count > 0 {
		print("FAILED")
		return exitWrong
	}
	if interrupted {
		print("interrupted; nothing wrong so far")
	} else {
		print("passed")
	}
	return exitOK
}

// levels shows what each process held after the warm-up, at half and at the end, and judges whether that was flat.
func (t *trial) levels(interrupted bool) {
	if len(t.samples) == 0 {
		return
	}
	// Until the first replaced containers are forgotten there are more of them all the time.
	warm, half, end := min(max(t.watched/6, forgotten(t.idle)), t.watched/3), t.watched/2, t.watched
	again := warm
	if t.restart {
		half -= sampleEvery // the old process's last
		// The gateway is another process from then on, which had the whole fleet come back at once.
		again = t.watched/2 + warm
	}
	fmt.Fprintf(t.out, "%-14s %-25s %12s %12s %12s %12s\n", "levels", "", "after "+warm.Round(time.Second).String(), "at half",
		"after "+again.Round(time.Second).String(), "at the end")
	process := ""
	for _, level := range []struct {
		name, quantity string
		unit           float64
		judged         bool
		of             func(sample) int64
	}{
		{"gateway", "memory (RSS), MB", 1 << 20, true, func(s sample) int64 { return s.gateway.rss }},
		{"", "descriptors", 1, true, func(s sample) int64 { return int64(s.gateway.descriptors) }},
		{"", "heap, MB", 1 << 20, false, func(s sample) int64 { return int64(s.metrics.sum("go_memstats_heap_alloc_bytes")) }},
		{"", "goroutines", 1, true, func(s sample) int64 { return int64(s.metrics.sum("go_goroutines")) }},
		{"", "heap that a GC leaves, MB", 1 << 20, t.soak, func(s sample) int64 { return int64(s.metrics.sum("go_memstats_next_gc_bytes") / 2) }},
		{"", "containers", 1, false, func(s sample) int64 { return int64(s.metrics.sum("gateway_containers")) }},
		{"", "containers present", 1, false, func(s sample) int64 { return int64(s.metrics.sum("gateway_containers_present")) }},
		{"", "containers connected", 1, false, func(s sample) int64 { return int64(s.metrics.sum("gateway_containers_connected")) }},
		{"", "event streams", 1, false, func(s sample) int64 { return int64(s.metrics.sum("gateway_streams_open")) }},
		{"", "WebSockets", 1, false, func(s sample) int64 { return int64(s.metrics.sum("gateway_sockets_open")) }},
		{"answer", "memory (RSS), MB", 1 << 20, true, func(s sample) int64 { return s.answer.rss }},
		{"", "descriptors", 1, true, func(s sample) int64 { return int64(s.answer.descriptors) }},
		{"clients", "memory (RSS), MB", 1 << 20, false, func(s sample) int64 { return s.clients.rss }},
		{"", "descriptors", 1, false, func(s sample) int64 { return int64(s.clients.descriptors) }},
	} {
		a, b, c := near(t.samples, warm, level.of), near(t.samples, half, level.of), near(t.samples, end, level.of)
		d := near(t.samples, again, level.of)
		if level.name != "" {
			process = level.name
		}
		settled := a
		if process == "gateway" {
			settled = d
		}
		verdict := ""
		line := fit(t.samples, half, level.of)
		allowed := float64(countRise)
		if level.unit > 1 {
			allowed = memoryRise(t.watched - half)
		}
		switch {
		case !level.judged:
		case t.soak:
			rise := line.rise(t.watched - half)
			if verdict = fmt.Sprintf("%+.1f %% in the last half: flat", rise); line.rises(t.watched-half, allowed) {
				verdict = fmt.Sprintf("%+.1f %% in the last half: NOT FLAT", rise)
				if !interrupted {
					t.faults.add("%s %s rose by %.1f %% over the last %v", process, level.quantity, rise, (t.watched - half).Round(time.Second))
				}
			}
		case flat(settled, c):
			verdict = "flat"
		default:
			verdict = "NOT FLAT"
			if !interrupted {
				t.faults.add("%s %s grew from %d to %d", process, level.quantity, settled, c)
			}
		}
		show := func(v int64) string { return fmt.Sprintf("%.5g", float64(v)/level.unit) }
		fmt.Fprintf(t.out, "  %-12s %-25s %12s %12s %12s %12s  %s\n", level.name, level.quantity, show(a), show(b), show(d), show(c), verdict)
	}
}
