package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// pickUp is within which gateway answer serves again, once what it needs can be reached (protocol R5).
const pickUp = 5 * time.Second

// slack is for the machine, which tests share.
const slack = 2 * time.Second

// call makes a call that must be answered, and returns how long that took.
func (r *rig) call(c *caller, word string, repeats bool) time.Duration {
	r.t.Helper()
	word = strings.ReplaceAll(word, " ", "-")
	began := time.Now()
	r.ledger.enter(word, repeats, false)
	if e := c.call(arguments{Say: word}, false); e.result != answered {
		r.t.Fatalf("%s: %v", word, e.err)
	}
	return time.Since(began)
}

func (r *rig) within(took time.Duration, what string) {
	r.t.Helper()
	r.t.Logf("%s: served after %v", what, took.Round(time.Millisecond))
	if took > pickUp+slack {
		r.t.Errorf("%s: served after %v, wanted %v", what, took, pickUp)
	}
}

var servedAs = map[string]string{"one container": "a", "every container": "*"}

func TestGatewayAnswerSurvivesRestartsOfTheGateway(t *testing.T) {
	t.Parallel()
	for name, container := range servedAs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.answer(r.outside, container)
			r.call(r.caller("a"), "before", false)
			for i := range 2 {
				r.gateway.Kill()
				rest(t.Context(), time.Duration(i)*700*time.Millisecond) // the waits between attempts grow
				r.startGateway()
				began := time.Now()
				r.call(r.caller("a"), fmt.Sprintf("after %d", i), false)
				r.within(time.Since(began), "after a restart")
			}
		})
	}
}

func TestGatewayAnswerSurvivesRestartsOfTheMCPServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	u, _ := r.answer(r.outside, "a")
	c := r.caller("a")
	r.call(c, "before", false)
	if err := u.stop(); err != nil {
		t.Fatal(err)
	}
	r.ledger.enter("meanwhile", false, false)
	if e := c.call(arguments{Say: "meanwhile"}, false); e.result != failed {
		t.Errorf("while the MCP server is away a call is answered: %+v", e)
	}
	if err := u.start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.call(c, "after", false)
	r.within(time.Since(began), "after the MCP server's restart")
}

// What lies between keeps the connections open and acknowledges what it drops: only a ping that nobody answers shows it.
func TestGatewayAnswerSurvivesHalfOpenConnections(t *testing.T) {
	t.Parallel()
	for name, container := range servedAs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			between, err := newRoute(r.outside)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(between.close)
			r.answer(between.address(), container)
			c := r.caller("a")
			r.call(c, "before", false)
			if err := between.strand(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r.call(c, "into the void", false)
			r.within(time.Since(began), "half-open")
			if container != "*" {
				return
			}
			// The list of containers was stranded too.
			began = time.Now()
			r.call(r.caller("b"), "of a container that came meanwhile", false)
			r.within(time.Since(began), "half-open, another container")
		})
	}
}

// A handshake that goes nowhere does not hold up the next attempt for long.
func TestGatewayAnswerSurvivesAHandshakeThatGoesNowhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	between, err := newRoute(r.outside)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(between.close)
	if err := between.toxic().add(poison{Type: "timeout", Stream: upstreamward, Attributes: map[string]any{"timeout": 0}}); err != nil {
		t.Fatal(err)
	}
	r.answer(between.address(), "a")
	r.eventually("an attempt is under way", hang, func() bool {
		between.mu.Lock()
		defer between.mu.Unlock()
		return len(between.open) > 0
	})
	if err := between.strand(); err != nil { // which leaves the attempt where it is
		t.Fatal(err)
	}
	began := time.Now()
	r.call(r.caller("a"), "after", false)
	r.within(time.Since(began), "a stranded handshake")
}
