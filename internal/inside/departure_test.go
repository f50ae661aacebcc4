package inside

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

var _ mux.Leaver = (*call)(nil)

// waiting sends a call and waits until it is known.
func (s *mcpSession) waiting(p *provider, body string) (net.Conn, heard) {
	s.w.t.Helper()
	conn := s.w.raw(postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(body))) + body)
	return conn, p.next()
}

func reset(t testing.TB, conn net.Conn) {
	t.Helper()
	if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func halfClose(t testing.TB, conn net.Conn) {
	t.Helper()
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// TestA10_CallerThatEndsItsHalfOnlyIsTold reads what it gets instead of an answer.
func TestA10_CallerThatEndsItsHalfOnlyIsTold(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn, _ := s.waiting(p, callBody)
	halfClose(t, conn)
	r := w.readResponse(bufio.NewReader(conn), "POST").fails(200, codeInternal, "1", "ended its connection")
	if !r.closes || !strings.Contains(r.body, `"reason":"left"`) {
		t.Errorf("got %s, closes %v", r.body, r.closes)
	}
}

// TestClientThatComesBackTakesItsIDWithIt repeats a call whose connection has
// died, before anybody has looked.
func TestClientThatComesBackTakesItsIDWithIt(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	for i, depart := range []func(testing.TB, net.Conn){func(_ testing.TB, c net.Conn) { _ = c.Close() }, reset, halfClose} {
		first, _ := s.waiting(p, callBody)
		holder := w.only("c1")
		depart(t, first)
		await(t, "the departure", holder.Gone)
		second, b := s.waiting(p, callBody)
		w.observed.await(t, "exchange call-tool left", i+1)
		s.send(callBody).fails(400, codeInvalidRequest, "1", "same id")
		p.result(b, `{"content":[2]}`)
		w.readResponse(bufio.NewReader(second), "POST").is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[2]}}`)
	}
	if n := w.observed.of("refused inside duplicate-id"); n != 3 {
		t.Errorf("%d duplicates were refused, want 3", n)
	}
}

// TestCallMakesWayForOneThatComesBack needs nobody to look: the old call is told
// by the new one, whose place it leaves alone.
func TestCallMakesWayForOneThatComesBack(t *testing.T) {
	w := newWorld(t)
	_, s := w.faces.mint("c1", newest)
	face := there(w.mux.Container("c1")).Sink().(*Face)
	key := keyOf(s.id, []byte("1"))
	old, fresh := w.reply(departed(t)).dummy(), w.reply(nil).dummy()
	for _, c := range []*call{old, fresh} {
		c.key = key
		if refused := face.begin(c); refused != "" {
			t.Fatal(refused)
		}
	}
	if n := <-old.reply.news; n != (news{old, callLeft}) {
		t.Errorf("the old call was told %v, want %v", n.why, callLeft)
	}
	face.finish(old)
	face.cancel(key)
	if n := <-fresh.reply.news; n != (news{fresh, callCancelled}) {
		t.Errorf("the new call was told %v, want %v", n.why, callCancelled)
	}
	third := w.reply(nil).dummy()
	third.key = key
	if refused := face.begin(third); refused != ReasonDuplicateID {
		t.Errorf("refused with %q, want %q", refused, ReasonDuplicateID)
	}
	face.finish(fresh)
}

// TestGoneMayBeAskedAtAnyTime asks calls whether they are gone while they go
// through the pool, as a mux may that is late.
func TestGoneMayBeAskedAtAnyTime(t *testing.T) {
	w := newWorld(t)
	r := w.reply(departed(t))
	c := takeCall(r, &asking{})
	if !c.Gone() {
		t.Error("a departed client is not gone")
	}
	c.release()
	if c.Gone() {
		t.Error("nobody's call is gone")
	}
	calls := make(chan *call)
	var late sync.WaitGroup
	late.Go(func() {
		for c := range calls {
			c.Gone()
		}
	})
	for range 1000 {
		c := takeCall(r, &asking{})
		calls <- c
		c.release()
	}
	close(calls)
	late.Wait()
}

// departed is a connection whose client has left.
func departed(t testing.TB) *sock.Conn {
	t.Helper()
	conn, client := connected(t)
	_ = client.Close()
	await(t, "the departure", conn.Departed)
	return conn
}

// connected is a connection and its client.
func connected(t testing.TB) (conn *sock.Conn, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = net.DialTimeout("tcp", ln.Addr().String(), patience); err != nil {
		t.Fatal(err)
	}
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return sock.Wrap(server), client
}

// only is the one call of a container.
func (w *world) only(container string) *call {
	w.t.Helper()
	face := w.mux.Lookup(container).Sink().(*Face)
	face.mu.Lock()
	defer face.mu.Unlock()
	if face.calls.len() != 1 {
		w.t.Fatalf("there are %d calls", face.calls.len())
	}
	for c := range face.calls.all() {
		return c
	}
	panic("unreachable")
}

// TestA10_DepartureNobodyHasNoticedIsNotAnnounced has a caller leave before there
// is a server: the mux asks whether it is still there.
func TestA10_DepartureNobodyHasNoticedIsNotAnnounced(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	body := strings.Replace(callBody, `"id":1`, `"id":"left"`, 1)
	conn := w.raw(postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(body))) + body)
	awaitWaiting(t, w.mux, 1)
	c := w.only("c1")
	_ = conn.Close()
	await(t, "the departure", c.Gone)
	p := w.provide("c1")
	reply := s.start(strings.Replace(callBody, `"name":"t"`, `"name":"kept"`, 1))
	a := p.next()
	if string(a.payload) != `{"name":"kept"}` {
		t.Errorf("a server was told of %s", a.payload)
	}
	p.result(a, `{}`)
	reply.wait(200)
	w.observed.await(t, "exchange call-tool left", 1)
}

// TestA10_DepartureOfAYoungCallIsNoticedSooner has one client leave at once, and
// one after an hour, of which nothing tells.
func TestA10_DepartureOfAYoungCallIsNoticedSooner(t *testing.T) {
	for _, c := range []struct{ after, most time.Duration }{{0, firstLook}, {time.Hour, departurePoll}} {
		conn, client := connected(t)
		synctest.Test(t, func(t *testing.T) {
			w := newDeafWorld(t, func(o *options) { o.sseAfter = Never })
			defer w.stop()
			r := w.reply(conn)
			made := r.dummy()
			made.ask = asked(r.container.Ask(codec.ListTools, nil, made))
			waited := make(chan struct{})
			go func() { defer close(waited); r.wait() }()
			<-time.After(c.after)
			synctest.Wait()
			_ = client.Close()
			await(t, "the departure", conn.Departed)
			left := time.Now()
			<-waited
			if made.outcome != mux.Left || !r.x.spoilt {
				t.Errorf("ended with %v, want %v", made.outcome, mux.Left)
			}
			if got := time.Since(left); got > c.most {
				t.Errorf("noticed after %v, want at most %v", got, c.most)
			}
			r.release()
		})
	}
	if firstLook > 100*time.Millisecond || departurePoll > time.Second {
		t.Errorf("looks after %v, then ever less often, to every %v", firstLook, departurePoll)
	}
}
