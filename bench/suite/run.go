//go:build linux

package suite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options are what a run is told.
type Options struct {
	Plan    Plan
	Command string   // as it was typed
	Only    []string // the parts to measure, all if empty
	Peers   string   // the folder of the peers; empty: without them
	Program string   // a gateway that was built already; empty: it is built
	Log     func(format string, args ...any)
}

// parts are what a run consists of, in order.
var partNames = []string{"micro", "exchange", "latency", "big", "fanout", "stalled", "idle", "growth", "start", "churn", "peers"}

// Parts are the names that Options.Only may hold.
func Parts() []string { return slices.Clone(partNames) }

// Run measures. A part that fails ends it: figures are not made of what went wrong.
func Run(o Options) (*Results, error) {
	began := time.Now()
	r := &Results{Command: o.Command, Date: began.UTC().Format("2006-01-02"), Commit: commit(), Plan: o.Plan, Machine: ThisMachine()}
	dir, err := os.MkdirTemp("", "gateway-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if o.Program == "" {
		o.Program = filepath.Join(dir, "gateway")
		o.Log("building the gateway")
		if err := run(".", "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", o.Program, "./cmd/gateway"); err != nil {
			return nil, err
		}
	} else if o.Program, err = exec.LookPath(o.Program); err != nil {
		return nil, err
	}
	var peers Installed
	switch {
	case o.Peers == "":
		peers.Skipped = []string{"the peers: the run was told to do without"}
	case o.wants("fanout") || o.wants("idle") || o.wants("peers"):
		o.Log("installing the peers")
		peers = Install(o.Peers)
	}
	r.Skipped = append(r.Skipped, peers.Skipped...)
	for _, name := range partNames {
		if !o.wants(name) {
			continue
		}
		partBegan := time.Now()
		if err := r.measure(name, o, peers); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		o.Log("%-8s %5.1f s", name, time.Since(partBegan).Seconds())
	}
	r.Took = time.Since(began).Round(time.Second)
	return r, nil
}

func (o Options) wants(part string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, part) }

func (r *Results) measure(part string, o Options, peers Installed) (err error) {
	p := o.Plan
	switch part {
	case "micro":
		r.Micro, err = MeasureMicro(p)
	case "exchange":
		r.Exchange, err = MeasureExchange(p, o.Program)
	case "latency":
		most := 8000.0 // about what it is where nothing was measured
		if r.Exchange != nil {
			most = r.Exchange.Gateway1.Median(Rate)
		}
		r.Latency, err = MeasureLatency(p, o.Program, most)
	case "big":
		r.Big, err = MeasureBig(p, o.Program)
	case "fanout":
		r.FanOut, err = MeasureFanOut(p, o.Program, peers.Centrifugo)
	case "stalled":
		r.Stalled, err = MeasureStalled(p, o.Program)
	case "idle":
		r.Idle, err = MeasureIdle(p, peers.Centrifugo)
	case "growth":
		r.Growth, err = MeasureGrowth(p)
	case "start":
		r.Start, err = MeasureStart(p, o.Program)
	case "churn":
		r.Churn, err = MeasureChurn(p, o.Program)
	case "peers":
		if r.Peers, err = MeasurePeers(p, o.Program, peers); err != nil { // it may well be a peer's fault
			r.Skipped = append(r.Skipped, fmt.Sprintf("the peers in front of a server on stdio: %v", err))
			r.Peers, err = nil, nil
		}
	default:
		err = fmt.Errorf("no such part; there are %s", strings.Join(partNames, ", "))
	}
	return err
}
