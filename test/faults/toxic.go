package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Directions, as toxiproxy has them: seen from whoever connects.
const (
	upstreamward   = "upstream"
	downstreamward = "downstream"
)

// poison is one toxic.
type poison struct {
	Name       string         `json:"name,omitempty"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Attributes map[string]any `json:"attributes"`
}

// silence keeps toxiproxy's toxics from logging, which they do past the logger that it is given.
var silence = sync.OnceFunc(func() { zerolog.SetGlobalLevel(zerolog.Disabled) })

// toxic is one toxiproxy.
type toxic struct{ proxy *toxiproxy.Proxy }

func newToxic(target string) (*toxic, error) {
	silence()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	t := &toxic{toxiproxy.NewProxy(server, "faults", "127.0.0.1:0", target)}
	return t, t.proxy.Start()
}

func (t *toxic) address() string { return t.proxy.Listen }

// toxicPatience is how long toxiproxy may take over a change. A connection that ended at the wrong moment holds it up for ever.
const toxicPatience = 2 * time.Second

var errStuck = fmt.Errorf("toxiproxy did not take a change within %v", toxicPatience)

// add adds a toxic to connections, also those that are open.
func (t *toxic) add(p poison) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return t.within(func() error {
		_, err := t.proxy.Toxics.AddToxicJson(bytes.NewReader(b))
		return err
	})
}

// heal takes all toxics away.
func (t *toxic) heal() error {
	return t.within(func() error {
		t.proxy.Toxics.ResetToxics(context.Background())
		return nil
	})
}

func (t *toxic) within(change func() error) error {
	done := make(chan error, 1)
	go func() { done <- change() }()
	timer := time.NewTimer(toxicPatience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return errStuck
	}
}

// abandon stops it; where it is stuck, nobody waits.
func (t *toxic) abandon() {
	go t.proxy.Stop()
}
