package main

import (
	"context"
	"fmt"
	"time"
)

// downFor is how long there is no gateway between its two lives.
const downFor = 2 * time.Second

// recoverWithin is how long after a restart everybody may take to be connected as before.
const recoverWithin = time.Minute

// restartGateway ends the gateway, starts it again at the same addresses and with the same key, and waits until everybody
// is connected as before.
func (t *trial) restartGateway(ctx context.Context) error {
	if err := t.enter(ctx, restarting); err != nil {
		return err
	}
	t.say("restarting the gateway")
	began := time.Now()
	if err := t.gateway.stop(endWithin); err != nil {
		t.faults.add("%v", err)
	}
	ended := time.Since(began)
	t.pass(ctx, downFor)
	if err := t.startGateway(ctx); err != nil {
		return err
	}
	ready := time.Since(began)
	if err := t.enter(ctx, recovering); err != nil {
		return err
	}
	t.say("the gateway ended after %v and is ready again after %v", ended.Round(time.Millisecond), ready.Round(time.Millisecond))
	var streams, served time.Duration // since it is ready
	err := t.until(ctx, recoverWithin, 200*time.Millisecond, "everybody is connected again after the restart", func() bool {
		since := time.Since(began) - ready
		r := t.clients.latest()
		m, err := scrape(ctx, t.metricsURL())
		if err != nil {
			return false
		}
		if streams == 0 && m.sum("gateway_streams_open") >= float64(r.Up) {
			streams = since
		}
		if served == 0 && m.sum("gateway_containers_connected") >= float64(r.Up) {
			served = since
		}
		return streams > 0 && served > 0
	})
	if err != nil {
		return err
	}
	t.restarted = fmt.Sprintf("ended %v after SIGTERM, ready after %v; %v later all event streams were open, %v later all containers served",
		ended.Round(time.Millisecond), ready.Round(time.Millisecond), streams.Round(100*time.Millisecond), served.Round(100*time.Millisecond))
	t.say("restart: %s", t.restarted)
	// What was missed shows when the next notification comes.
	t.pass(ctx, t.young())
	return t.enter(ctx, steady)
}

// enter has the clients enter a phase, and waits until they have.
func (t *trial) enter(ctx context.Context, p phase) error {
	t.clients.tell(string(p))
	return t.until(ctx, 10*time.Second, time.Millisecond, fmt.Sprint("the clients know that the gateway is ", p), func() bool {
		return t.clients.latest().Phase == p
	})
}
