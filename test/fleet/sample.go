package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usage is what a process holds.
type usage struct {
	rss         int64 // bytes
	descriptors int
}

// usageOf reads /proc.
func usageOf(pid int) (usage, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return usage{}, err
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return usage{}, fmt.Errorf("/proc/%d/statm holds %q", pid, statm)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return usage{}, err
	}
	d, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return usage{}, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return usage{}, err
	}
	return usage{rss: pages * int64(os.Getpagesize()), descriptors: len(names)}, nil
}

// metrics are the gateway's series, by name and labels as they are written.
type metrics map[string]float64

func parseMetrics(r io.Reader) (metrics, error) {
	m := make(metrics)
	for s := bufio.NewScanner(r); ; {
		if !s.Scan() {
			return m, s.Err()
		}
		line := s.Bytes()
		if i := bytes.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			value, err := strconv.ParseFloat(string(line[i+1:]), 64)
			if err != nil {
				return nil, fmt.Errorf("metrics: %q: %w", line, err)
			}
			m[string(line[:i])] = value
		}
	}
}

// sum adds up all series of a metric.
func (m metrics) sum(name string) (total float64) {
	for series, value := range m {
		if series == name || strings.HasPrefix(series, name+"{") {
			total += value
		}
	}
	return total
}

// mustBeZero are the series that show a fault of the gateway, or of answer, where they are not.
var mustBeZero = []string{
	"gateway_panics_total",
	"gateway_illegal_transitions_total",
	"gateway_answers_extra_messages_total",
	"gateway_notifications_undecodable_total",
	"gateway_notifications_error_ends_total",
	`gateway_notifications_dropped_total{reason="room"}`,
	`gateway_notifications_dropped_total{reason="too-big"}`,
	`gateway_streams_closed_total{reason="full"}`,
}

// mustBeZeroUnlessStalled are those that readers who stall account for.
var mustBeZeroUnlessStalled = []string{
	`gateway_streams_closed_total{reason="stalled"}`,
	`gateway_streams_closed_total{reason="failed"}`,
}

// odd are the series that show a fault.
func (m metrics) odd(stalled bool) (found []string) {
	names := mustBeZero
	if !stalled {
		names = slices.Concat(names, mustBeZeroUnlessStalled)
	}
	for _, name := range names {
		if v := m.sum(name); v != 0 {
			found = append(found, fmt.Sprintf("%s is %v", name, v))
		}
	}
	for series, v := range m {
		if v != 0 && strings.HasPrefix(series, "gateway_") && strings.Contains(series, `="other"`) {
			found = append(found, fmt.Sprintf("%s is %v", series, v))
		}
	}
	slices.Sort(found)
	return found
}

// scrape reads the gateway's metrics.
func scrape(ctx context.Context, url string) (metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return parseMetrics(response.Body)
}

// sample is what was seen at one time.
type sample struct {
	at                       time.Duration // since all had come
	unsettled                bool          // a quiet point has just been: fewer containers that have left are remembered
	gateway, answer, clients usage
	metrics                  metrics
}

// near is the median of the samples next to a time, each quantity by itself: one alone hangs on where in a garbage
// collection's cycle it was taken.
func near(samples []sample, at time.Duration, of func(sample) int64) int64 {
	sorted := slices.Clone(samples)
	slices.SortStableFunc(sorted, func(a, b sample) int { return int((a.at - at).Abs() - (b.at - at).Abs()) })
	values := make([]int64, min(3, len(sorted)))
	for i := range values {
		values[i] = of(sorted[i])
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}

// growth is how much more there may be at the end than after the warm-up, in percent.
const growth = 15

func flat(warm, end int64) bool { return end*100 <= warm*(100+growth) }
