package inside

import (
	"fmt"
	"testing"
	"time"
)

const notFound = `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found: send initialize again, without Mcp-Session-Id"}}`

// at is the session as a client of another gateway has it.
func (s *mcpSession) at(w *world) *mcpSession {
	return &mcpSession{w: w, http: newClient(w.t), path: s.path, token: s.token}
}

// TestSessionOutlivesARestart honours a session at a process with the same key,
// which has never seen its container.
func TestSessionOutlivesARestart(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	again := s.at(newWorld(t))
	again.send(pingBody).is(200, "")
	again.listen()
	again.delete().is(204, "")
	again.send(pingBody).is(404, notFound)

	fresh := newWorld(t)
	s.at(fresh).delete().is(204, "")
	s.at(fresh).send(pingBody).is(404, notFound)

	s.at(newWorld(t, func(o *options) { o.key = append([]byte("another"), testKey...) })).send(pingBody).is(404, notFound)
}

// TestSessionOfAnotherContainer tries a session id at every container but its own.
func TestSessionOfAnotherContainer(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	w.connect("c2")
	for _, path := range []string{"/containers/c2/mcp", "/containers/c3/mcp", "/containers/C1/mcp", "/mcp"} {
		theft := &mcpSession{w: w, http: s.http, path: path, token: s.token}
		theft.send(pingBody).is(404, notFound)
		theft.delete().is(404, notFound)
		do(t, theft.http, theft.request("", method("GET"))).is(404, notFound)
	}
	if w.mux.Lookup("c3") != nil {
		t.Error("a refused request began a container")
	}
	s.send(pingBody).is(200, "")
}

func TestPrefixedDefaultIsTheUnprefixedContainer(t *testing.T) {
	w := newWorld(t)
	s := w.connectAt("/mcp")
	same := &mcpSession{w: w, http: s.http, path: "/containers/default/mcp", token: s.token}
	same.send(pingBody).is(200, "")
}

// TestSessionExpires lets a session go unused, which must be answered in a way
// that clients recover from.
func TestSessionExpires(t *testing.T) {
	w := newWorld(t, func(o *options) { o.ttl = time.Hour })
	s := w.connect("c1")
	for range 5 { // each use lets it live on
		w.clock.pass(59 * time.Minute)
		s.send(pingBody).is(200, "")
	}
	w.clock.pass(time.Hour)
	s.send(pingBody).is(404, notFound)
	s.delete().is(404, notFound)
	do(t, s.http, s.request("", method("GET"))).is(404, notFound)
	w.connect("c1").send(pingBody).is(200, "")
}

func TestSessionIsUsedWhileItsStreamIsOpen(t *testing.T) {
	w := newWorld(t, func(o *options) { o.ttl = time.Hour })
	s := w.connect("c1")
	e := s.listen()
	w.clock.pass(100 * time.Hour)
	s.send(pingBody).is(200, "")
	w.clock.pass(100 * time.Hour)
	_ = e.conn.Close()
	await(t, "no stream is open", func() bool { return w.streams.Streams.Load() == 0 })
	face := w.mux.Lookup("c1").Sink().(*Face)
	await(t, "the face let go", func() bool {
		face.mu.Lock()
		defer face.mu.Unlock()
		return face.streams.len() == 0
	})
	w.clock.pass(59 * time.Minute)
	s.send(pingBody).is(200, "")
	w.clock.pass(time.Hour)
	s.send(pingBody).is(404, notFound)
}

// TestSessionIsUsedByALongCall has a call take longer than a session lives: no
// time limit kills it.
func TestSessionIsUsedByALongCall(t *testing.T) {
	w := newWorld(t, func(o *options) { o.ttl = time.Hour })
	s, p := w.connect("c1"), w.provide("c1")
	reply := s.start(callBody)
	a := p.next()
	w.clock.pass(100 * time.Hour)
	p.result(a, `{"content":[]}`)
	reply.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	w.clock.pass(59 * time.Minute)
	s.send(pingBody).is(200, "")
}

// TestSessionUnseenCountsAsUsedWhenTheProcessBegan gives a session a whole TTL
// after a restart, but not one that was issued before for ever.
func TestSessionUnseenCountsAsUsedWhenTheProcessBegan(t *testing.T) {
	ttl := func(o *options) { o.ttl = time.Hour }
	old := newWorld(t, ttl)
	s := old.connect("c1")
	later := newClock()
	later.pass(10 * time.Hour)
	w := newWorld(t, ttl, func(o *options) { o.clock = later })
	later.pass(59 * time.Minute)
	s.at(w).send(pingBody).is(200, "")

	w = newWorld(t, ttl, func(o *options) { o.clock = later })
	later.pass(time.Hour)
	s.at(w).send(pingBody).is(404, notFound)
	if w.mux.Lookup("c1") != nil {
		t.Error("an expired session began its container")
	}
	// Nor is it good once another session has begun the container.
	w.connect("c1").send(pingBody).is(200, "")
	s.at(w).send(pingBody).is(404, notFound)
}

func TestTokensCannotBeForged(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	for i := range s.token {
		for _, c := range []byte("A9_-=.") {
			forged := []byte(s.token)
			if forged[i] == c {
				continue
			}
			forged[i] = c
			if _, ok := w.faces.verify("c1", forged); ok {
				t.Fatalf("byte %d of the session id can be changed to %q", i, c)
			}
		}
	}
	for _, forged := range []string{"", "x", s.token[1:], s.token + "A", s.token + "\n", s.token[:len(s.token)-1] + "\n"} {
		if _, ok := w.faces.verify("c1", []byte(forged)); ok {
			t.Errorf("%q counts as a session id", forged)
		}
	}
	unserved, _ := w.faces.mint("c1", newest+1)
	if _, ok := w.faces.verify("c1", []byte(unserved)); ok {
		t.Error("a session of a revision that we do not serve is good")
	}
	// The id's length is part of what is signed: no id can borrow from its session.
	if _, ok := w.faces.verify("c", []byte(s.token)); ok {
		t.Error("a session of c1 is good for c")
	}
}

func TestKeyMustBeLong(t *testing.T) {
	if _, err := newSigner(make([]byte, minSessionKey-1)); err == nil {
		t.Error("a short key was taken")
	}
}

// TestSessionsWithoutDeleteDoNotLeak begins thousands of sessions and ends none.
func TestSessionsWithoutDeleteDoNotLeak(t *testing.T) {
	w := newWorld(t)
	first := w.connect("c1")
	face := w.mux.Lookup("c1").Sink().(*Face)
	face.mu.Lock()
	if face.sessions.uses != nil || face.streams.more != nil || face.calls.more != nil {
		t.Error("a session that was not used yet costs memory")
	}
	face.mu.Unlock()
	for i := range 3 * maxUses {
		token, s := w.faces.mint("c1", newest)
		read, ok := w.faces.verify("c1", []byte(token))
		if !ok || read != s {
			t.Fatalf("session %d cannot be read back", i)
		}
		w.clock.pass(time.Millisecond)
		if !face.admit(s) {
			t.Fatalf("session %d is refused", i)
		}
	}
	face.mu.Lock()
	if n := 1 + len(face.sessions.uses); n != maxUses {
		t.Errorf("%d sessions are remembered, want %d", n, maxUses)
	}
	face.mu.Unlock()
	first.send(pingBody).is(200, "")
}

func TestEndedSessionsAreBounded(t *testing.T) {
	l := lifetime{ttl: time.Hour}
	var table sessions
	made := func(i int) session {
		s := session{issued: int64(i)}
		copy(s.id[:], fmt.Sprint(i))
		return s
	}
	for i := range 3 * maxEnded {
		table.end(made(i), l, 0)
	}
	if n := len(table.ended); n != maxEnded {
		t.Errorf("%d are remembered, want %d", n, maxEnded)
	}
	for i := range 3 * maxEnded {
		if live := table.live(made(i), &archive{}, l, 0); live != (i < 2*maxEnded) {
			t.Fatalf("session %d: live is %v", i, live)
		}
	}
	// Those that would have expired by now make room first.
	now := time.Unix(int64(3*maxEnded-100), 0).Add(time.Hour).UnixNano()
	table.end(made(3*maxEnded), l, now)
	if n := len(table.ended); n != 100 {
		t.Errorf("%d are remembered, want 100", n)
	}
}
