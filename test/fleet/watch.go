package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// sampleEvery is the time between samples, and between progress lines.
const sampleEvery = 5 * time.Second

// deafness is how many containers did not hear notifications, although their event streams were open.
type deafness struct {
	sent       uint64 // the newest notification at the last sample
	most, last int
	at         time.Duration // when the most were
}

// watch takes samples for as long as the run lasts, and restarts the gateway in the middle.
func (t *trial) watch(ctx context.Context) error {
	t.say("all %d containers have come; watching for %v", t.containers, t.duration)
	defer func() { t.watched = time.Since(t.watching) }()
	ticker := time.NewTicker(min(sampleEvery, t.duration/12))
	defer ticker.Stop()
	quiet := t.quietPoints()
	end := time.NewTimer(time.Until(t.watching.Add(t.duration)))
	defer end.Stop()
	var middle <-chan time.Time
	if t.restart {
		timer := time.NewTimer(time.Until(t.watching.Add(t.duration / 2)))
		defer timer.Stop()
		middle = timer.C
	}
	for {
		select {
		case <-ticker.C:
			if err := t.sample(ctx); err != nil {
				return err
			}
		case <-quiet:
			if err := t.quiet(ctx); err != nil {
				return err
			}
		case <-middle:
			if err := t.restartGateway(ctx); err != nil {
				return err
			}
		case <-end.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sample takes one, and says the progress.
func (t *trial) sample(ctx context.Context) (err error) {
	if err := t.alive(); err != nil {
		return err
	}
	var s sample
	s.at = time.Since(t.watching)
	s.unsettled = time.Now().Before(t.settles)
	if s.metrics, err = scrape(ctx, t.metricsURL()); err != nil {
		return err
	}
	for _, p := range []struct {
		of *usage
		*process
	}{{&s.gateway, t.gateway}, {&s.answer, t.answer}, {&s.clients, t.clients.process}} {
		if *p.of, err = usageOf(p.cmd.Process.Pid); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	r, m := t.clients.latest(), s.metrics
	t.judge(s, r)
	t.samples = append(t.samples, s)
	// The next report is about what everybody had the time since the last sample to hear.
	t.clients.tell(fmt.Sprint(tellHeard, " ", t.deaf.sent))
	t.deaf.sent = t.upstream.newest()
	t.say("%d up, %d streams, %d calls (%d failed, %d wrong, %d hung), p99 %v, %d heard, %d deaf, %d faults | "+
		"gateway %s MB %d fd %.0f goroutines %.0f containers | answer %s MB %d fd | clients %s MB %d fd",
		r.Up, r.Streams, r.Calls, total(r.Failed), r.Wrong, r.Hung, r.Steady.P99.Round(100*time.Microsecond), r.Notifications, r.Deaf, r.Faults,
		megabytes(s.gateway.rss), s.gateway.descriptors, m.sum("go_goroutines"), m.sum("gateway_containers"),
		megabytes(s.answer.rss), s.answer.descriptors, megabytes(s.clients.rss), s.clients.descriptors)
	return nil
}

// forgotten is how long after it has left a container is forgotten at the latest: it is reported gone after
// --container-idle, and forgotten after it once more. The sweep is late by an eighth each time.
func forgotten(idle time.Duration) time.Duration { return idle * 5 / 2 }

// judge finds what no sample may show.
func (t *trial) judge(s sample, r report) {
	if r.Deaf > t.deaf.most {
		t.deaf.most, t.deaf.at = r.Deaf, s.at
	}
	if r.Deaf > 0 && t.deaf.last > 0 && t.restarted == "" { // twice: a machine that paused makes them late once
		t.faults.add("%d containers hear no notifications", r.Deaf)
	}
	t.deaf.last = r.Deaf
	for _, odd := range s.metrics.odd(t.stalled > 0) {
		if !t.oddities[odd] && len(t.oddities) < faultsKept {
			t.oddities[odd] = true
			t.faults.add("gateway: %s", odd)
		}
	}
	replaced := t.replace / 100 * float64(t.containers) / 60 * forgotten(t.idle).Seconds()
	if most := float64(t.containers+3*t.stalled) + math.Ceil(replaced) + coming; s.metrics.sum("gateway_containers") > most {
		t.faults.add("gateway: it knows %v containers, and should have forgotten all but %v", s.metrics.sum("gateway_containers"), most)
	}
}

func total(m map[string]int) (sum int) {
	for _, n := range m {
		sum += n
	}
	return sum
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/(1<<20)) }
