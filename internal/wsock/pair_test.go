package wsock

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
)

// recorder is a Handler that keeps what it hears.
type recorder struct {
	messages  chan []byte
	ended     chan Ending
	onMessage func(b []byte) *Violation // may be nil
	onEnded   func(e Ending)            // may be nil
}

func newRecorder() *recorder {
	return &recorder{messages: make(chan []byte, 1024), ended: make(chan Ending, 8)}
}

func (r *recorder) Message(b *codec.Buffer) *Violation {
	defer b.Release()
	r.messages <- bytes.Clone(b.B)
	if r.onMessage != nil {
		return r.onMessage(b.B)
	}
	return nil
}

func (r *recorder) Ended(e Ending) {
	if r.onEnded != nil {
		r.onEnded(e)
	}
	r.ended <- e
}

// wait returns the next value, or fails the test.
func wait[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(wstest.Patience):
		t.Fatalf("%s did not come", what)
		panic("not reached")
	}
}

// until waits for a condition that nothing announces.
func until(t testing.TB, what string, met func() bool) {
	t.Helper()
	for deadline := time.Now().Add(wstest.Patience); !met(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func (r *recorder) message(t testing.TB) []byte {
	t.Helper()
	return wait(t, "a message", r.messages)
}

// ending returns how the connection ended, and fails the test if it was told
// more than once or a message is left unheard.
func (r *recorder) ending(t testing.TB) Ending {
	t.Helper()
	e := wait(t, "the end", r.ended)
	if len(r.ended) > 0 {
		t.Fatal("Ended was called twice")
	}
	if n := len(r.messages); n > 0 {
		t.Fatalf("%d messages arrived that the test did not expect", n)
	}
	return e
}

func (r *recorder) clean(t testing.TB, code uint16) {
	t.Helper()
	if e := r.ending(t); e != (Ending{Clean: true, Code: code, Lingers: e.Lingers}) {
		t.Fatalf("ended with %+v, wanted it clean with %d", e, code)
	}
}

func (r *recorder) abrupt(t testing.TB, code uint16) Ending {
	t.Helper()
	e := r.ending(t)
	if e.Clean || e.Code != code || e.Cause == nil {
		t.Fatalf("ended with %+v, wanted it abrupt with %d and a cause", e, code)
	}
	return e
}

// sockets returns the two ends of a TCP connection.
func sockets(t testing.TB) (ours, theirs *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	a, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return b.(*net.TCPConn), a.(*net.TCPConn)
}

// pair returns a Conn that is not served yet, in the role that cfg says, and
// its peer. The peer's socket is closed when the test ends.
func pair(t testing.TB, cfg *Config) (*Conn, *wstest.Peer) {
	t.Helper()
	ours, theirs := sockets(t)
	c := New(ours, nil, cfg)
	t.Cleanup(c.Cut)
	return c, wstest.Wrap(t, theirs, !cfg.Client)
}

// served is pair with a recorder that listens already.
func served(t testing.TB, cfg *Config) (*Conn, *wstest.Peer, *recorder) {
	t.Helper()
	c, p := pair(t, cfg)
	r := newRecorder()
	c.Serve(r)
	return c, p, r
}

// bothRoles runs the test with us as the server and as the client.
func bothRoles(t *testing.T, f func(t *testing.T, cfg *Config)) {
	for _, client := range []bool{false, true} {
		t.Run(map[bool]string{false: "server", true: "client"}[client], func(t *testing.T) {
			f(t, &Config{Client: client, OnPanic: func(v any, stack []byte) {
				t.Errorf("panic: %v\n%s", v, stack)
			}})
		})
	}
}

// pattern is n bytes in which every neighbourhood looks different.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// same fails the test unless got is want, without printing megabytes.
func same(t testing.TB, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	t.Fatalf("got %d bytes, wanted %d; they differ from byte %d on", len(got), len(want), at)
}

func hex(b []byte) string { return fmt.Sprintf("% x", b[:min(len(b), 32)]) }
