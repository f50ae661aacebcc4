package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// streamStall is the gateway's --stream-stall in a soak.
	streamStall = 10 * time.Second
	// quietEvery is the time between two quiet points, at most, and leastQuiet at least.
	quietEvery = 5 * time.Minute
	leastQuiet = 2 * time.Minute
	// quietWithin is how long it may take until what has gone is forgotten and every gauge is what it should be, on top of
	// forgotten.
	quietWithin = 30 * time.Second
	// settling is how long after that, besides, calls and churn need to be what they were.
	settling = 10 * time.Second
)

// padding has notifications fill the buffers of a stream that nobody reads.
func (o options) padding() int {
	if o.soak {
		return 4 << 10
	}
	return 0
}

// quietPoints ticks where a soak compares the gauges; its end is another such point.
func (t *trial) quietPoints() <-chan time.Time {
	if !t.soak || t.duration/2 < leastQuiet {
		return nil
	}
	return time.Tick(min(quietEvery, t.duration/2))
}

// quiet has nobody begin anything, waits until what has gone is forgotten, and compares the gateway's gauges with its list of
// containers and with what the clients know.
func (t *trial) quiet(ctx context.Context) error {
	t.clients.tell(tellQuiet)
	began := time.Now()
	var wrong []string
	err := t.until(ctx, forgotten(t.idle)+quietWithin, 500*time.Millisecond, "the gateway's gauges are what there is", func() bool {
		r := t.clients.latest()
		if !r.Quiet || r.Running > 0 || r.Stalling > 0 || r.Up != t.containers || r.Streams != t.containers {
			wrong = []string{fmt.Sprintf("the clients are not quiet: %d calls, %d up, %d streams, %d stalled", r.Running, r.Up, r.Streams, r.Stalling)}
			return false
		}
		wrong = t.compare(ctx, r)
		return len(wrong) == 0
	})
	for _, w := range wrong {
		t.faults.add("at a quiet point: %s", w)
	}
	if err != nil && len(wrong) == 0 {
		return err
	}
	t.quiets++
	t.say("quiet: after %v the gateway's gauges are what there is: %t", time.Since(began).Round(100*time.Millisecond), len(wrong) == 0)
	t.clients.tell(tellLively)
	t.settles = time.Now().Add(forgotten(t.idle) + settling)
	return nil
}

// compare finds where the gateway's gauges, its list and the clients differ.
func (t *trial) compare(ctx context.Context, r report) (wrong []string) {
	m, err := scrape(ctx, t.metricsURL())
	if err != nil {
		return []string{err.Error()}
	}
	listed, err := list(ctx, "http://"+t.outside+"/containers")
	if err != nil {
		return []string{err.Error()}
	}
	up := float64(t.containers)
	for series, want := range map[string]float64{
		"gateway_containers":                           up,
		"gateway_containers_present":                   float64(len(listed)),
		"gateway_containers_connected":                 up,
		"gateway_streams_open":                         float64(r.Streams),
		`gateway_sockets_open{path="requests"}`:        up,
		`gateway_sockets_open{path="notifications"}`:   up,
		`gateway_sockets_open{path="call-tool"}`:       0,
		`gateway_sockets_open{path="list-tools"}`:      0,
		`gateway_sockets_open{path="list-resources"}`:  0,
		`gateway_sockets_open{path="read-resource"}`:   0,
		`gateway_sockets_open{path="containers"}`:      1, // gateway answer's
		"gateway_asks_waiting":                         0,
		`gateway_asks_in_flight{state="announced"}`:    0,
		`gateway_asks_in_flight{state="open"}`:         0,
		`gateway_notification_asks{state="waiting"}`:   0,
		`gateway_notification_asks{state="announced"}`: 0,
		`gateway_notification_asks{state="open"}`:      up,
	} {
		if got := m.sum(series); got != want {
			wrong = append(wrong, fmt.Sprintf("%s is %v, and there are %v", series, got, want))
		}
	}
	for _, name := range r.Names {
		if !listed[name] {
			wrong = append(wrong, fmt.Sprintf("the gateway does not list %s, which is there", name))
		}
		delete(listed, name)
	}
	for name := range listed {
		wrong = append(wrong, fmt.Sprintf("the gateway lists %s, which has left", name))
	}
	if len(wrong) > faultsKept/4 {
		wrong = append(wrong[:faultsKept/4], "and more")
	}
	return wrong
}

// list is one snapshot of the gateway's list of containers.
func list(ctx context.Context, url string) (names map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel() // which ends the connection, too
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	names = make(map[string]bool)
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var line struct {
			Came     string `json:"came"`
			Complete *int   `json:"complete"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("the list of containers: %w in %.100q", err, lines.Bytes())
		}
		switch {
		case line.Came != "":
			names[line.Came] = true
		case line.Complete != nil && *line.Complete != len(names):
			return nil, fmt.Errorf("the list of containers is complete with %d, and has named %d", *line.Complete, len(names))
		case line.Complete != nil:
			return names, nil
		}
	}
	return nil, fmt.Errorf("the list of containers ended before it was complete")
}
