package main

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sigterm sends the gateway SIGTERM and waits until it is not ready any more.
func (r *rig) sigterm() {
	r.t.Helper()
	r.gateway.Signal(syscall.SIGTERM)
	r.eventually("/readyz fails", hang, func() bool { return r.get("/readyz") == http.StatusServiceUnavailable })
}

// TestAGracefulStop goes through what is promised, clause by clause.
func TestAGracefulStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, "--drain-timeout", "20s")
	h := r.hand("served")
	c := r.caller("served")
	nobody := r.caller("nobody")
	subscription := r.subscribe("served")
	if got := r.event(subscription); !strings.Contains(got, "acknowledged") {
		t.Fatalf("a subscription began with %s", got)
	}
	stream, _ := r.raw(fmt.Appendf(nil, "GET /containers/served/mcp HTTP/1.1\r\nHost: g\r\nAccept: text/event-stream\r\n%s: %s\r\n\r\n", sessionHeader, c.session))
	listening := r.events(stream)

	_, opened := r.begin(c, "opened", false)
	openedAsk := h.ask()
	openedPath := h.open(openedAsk)
	_, announced := r.begin(c, "announced", false)
	announcedAsk := h.ask()
	_, broken := r.begin(c, "broken", false)
	brokenPath := h.open(h.ask())
	_, waiting := r.begin(nobody, "waiting", false)
	r.eventually("the call that nobody serves has arrived", hang, func() bool {
		m, err := scrape(t.Context(), r.ops)
		return err == nil && m["gateway_asks_waiting"] == 1
	})

	r.sigterm()

	// New asks are refused with 503, and so is what would begin anything else.
	for what, request := range map[string][]byte{
		"a call":         c.posting(99, arguments{Say: "late"}, false),
		"stateless call": c.posting(99, arguments{Say: "late"}, true),
		"initialize":     httpRequest("new", "", "initialize", "", request(1, "initialize", map[string]any{"protocolVersion": sessions})),
		"a stream": fmt.Appendf(nil, "GET /containers/served/mcp HTTP/1.1\r\nHost: g\r\nAccept: text/event-stream\r\n%s: %s\r\n\r\n",
			sessionHeader, c.session),
	} {
		response, _ := r.raw(request)
		if response.StatusCode != http.StatusServiceUnavailable || !response.Close {
			t.Errorf("%s: %s, close %t", what, response.Status, response.Close)
		}
	}
	// What was announced is opened and answered, what was opened is answered, and what breaks is asked again.
	brokenPath.Close()
	h.give(h.open(announcedAsk), announcedAsk)
	if e := r.told(announced); e.result != answered {
		t.Errorf("what was announced: %v", e.err)
	}
	again := h.ask()
	h.give(h.open(again), again)
	if e := r.told(broken); e.result != answered {
		t.Errorf("what broke: %v", e.err)
	}
	select {
	case e := <-waiting:
		t.Errorf("who waits for a server was told before the drain was over: %v", e.err)
	case e := <-subscription:
		t.Errorf("a subscription ended before the drain was over: %s", e)
	default:
	}
	h.give(openedPath, openedAsk)
	if e := r.told(opened); e.result != answered {
		t.Errorf("what was being answered: %v", e.err)
	}
	// Then the others get -32603, /requests is closed cleanly, and streams end after it.
	if e := r.told(waiting); e.result != failed || !strings.Contains(e.err.Error(), "-32603") {
		t.Errorf("who waited for a server: %v", e.err)
	}
	op, body := h.next()
	if op != opClose || len(body) < 2 || int(body[0])<<8|int(body[1]) != 1001 {
		t.Errorf("/requests ended with opcode %d, % x", op, body)
	}
	select {
	case e := <-subscription:
		t.Errorf("a subscription ended before /requests did: %s", e)
	default:
	}
	if _, err := h.line.Write(closeFrame()); err != nil {
		t.Error(err)
	}
	if got := r.event(subscription); !strings.Contains(got, `"id":7`) || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("a subscription's last event is %s", got)
	}
	for _, stream := range []<-chan string{subscription, listening} {
		if got := r.event(stream); got != "end in order" {
			t.Errorf("a stream ended with %s", got)
		}
	}
	if err := r.exited(); err != nil {
		t.Error(err)
	}
}

func TestTheDrainEndsAndTellsWhoIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, "--drain-timeout", "300ms")
	h := r.hand("a")
	c := r.caller("a")
	_, call := r.begin(c, "long", false)
	path := h.open(h.ask())
	began := time.Now()
	r.sigterm()
	if e := r.told(call); e.result != failed || !strings.Contains(e.err.Error(), "-32603") || time.Since(began) < 300*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(began), e.err)
	}
	// A path ends without a Close, which would say that the ask is not served (protocol A6).
	if op, _, err := readFrame(path.in); err == nil {
		t.Errorf("an answer path got a frame of opcode %d", op)
	}
	if op, _ := h.next(); op != opClose {
		t.Errorf("/requests ended with opcode %d", op)
	}
	if err := r.exited(); err != nil {
		t.Error(err)
	}
}

func TestASecondSignalEndsTheDrainAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "--drain-timeout", "1h")
	h := r.hand("a")
	_, call := r.begin(r.caller("a"), "long", false)
	h.open(h.ask())
	r.sigterm()
	r.gateway.Signal(syscall.SIGTERM)
	if err := r.exited(); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("it ended with %v, wanted status 1", err)
	}
	if e := r.told(call); e.result != failed {
		t.Errorf("%+v", e)
	}
}

// A provider whose /requests connection breaks during the drain may come back and is asked again.
func TestAProviderMayComeBackDuringTheDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "--drain-timeout", "20s")
	h := r.hand("a")
	_, call := r.begin(r.caller("a"), "again", false)
	h.ask()
	r.sigterm()
	h.line.Close()
	h.connect()
	a := h.ask()
	h.give(h.open(a), a)
	if e := r.told(call); e.result != answered {
		t.Errorf("%+v", e)
	}
	go func() { _, _ = h.line.Write(closeFrame()) }()
	if err := r.exited(); err != nil {
		t.Error(err)
	}
}

func TestNothingThatGatewayAnswerWasAtIsLostByAStop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.answer(r.outside, "*")
	const containers, calls = 5, 8
	var pages []*page
	var all []<-chan ending
	for i := range containers {
		c := r.caller(fmt.Sprintf("c%d", i))
		for j := range calls {
			p, call := r.begin(c, fmt.Sprintf("call-%d-%d", i, j), true)
			pages, all = append(pages, p), append(all, call)
		}
	}
	for _, p := range pages {
		select {
		case <-p.started:
		case <-time.After(hang):
			t.Fatal("a call was not carried out")
		}
	}
	r.sigterm()
	for _, p := range pages {
		p.release()
	}
	for _, call := range all {
		if e := r.told(call); e.result != answered {
			t.Errorf("%+v", e)
		}
	}
	if err := r.exited(); err != nil {
		t.Error(err)
	}
	if wrong := r.ledger.repeated(); len(wrong) > 0 {
		t.Error(wrong)
	}
}
