package wsock

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// panicky expects one panic, told to the hook with its stack.
func panicky(t *testing.T, cfg *Config) (check func()) {
	type told struct {
		value any
		stack string
	}
	hook := make(chan told, 8)
	cfg.OnPanic = func(v any, stack []byte) { hook <- told{v, string(stack)} }
	return func() {
		t.Helper()
		got := wait(t, "word of the panic", hook)
		if got.value != "boom" || !strings.Contains(got.stack, "panic_test.go") {
			t.Errorf("told of %v with stack %s", got.value, got.stack)
		}
	}
}

func TestAPanicInMessageEndsItsConnectionOnly(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		check := panicky(t, cfg)
		c, p := pair(t, cfg)
		r := newRecorder()
		r.onMessage = func([]byte) *Violation { panic("boom") }
		c.Serve(r)
		p.BinaryAndClose([]byte("x"))
		same(t, r.message(t), []byte("x"))
		check()
		var pe *PanicError
		if e := r.abrupt(t, 0); !errors.As(e.Cause, &pe) || pe.Value != "boom" || len(pe.Stack) == 0 {
			t.Fatalf("ended with %+v", e)
		}
		p.ReadGone()
	})
}

func TestAPanicInEndedEndsTCP(t *testing.T) {
	bothRoles(t, func(t *testing.T, cfg *Config) {
		check := panicky(t, cfg)
		c, p := pair(t, cfg)
		r := newRecorder()
		calls := 0
		r.onEnded = func(e Ending) { calls++; r.ended <- e; panic("boom") }
		c.Serve(r)
		p.Close(1000)
		check()
		p.ReadGone()
		if e := wait(t, "the end", r.ended); !e.Clean || calls != 1 {
			t.Fatalf("ended %d times, with %+v", calls, e)
		}
	})
}

func TestAPanicAfterAPanicIsToldToo(t *testing.T) {
	cfg := &Config{}
	check := panicky(t, cfg)
	c, p := pair(t, cfg)
	r := newRecorder()
	r.onMessage = func([]byte) *Violation { panic("boom") }
	r.onEnded = func(Ending) { panic("boom") }
	c.Serve(r)
	p.Binary(nil)
	check()
	check()
	p.ReadGone()
}

// brokenConn panics where the flushing goroutine writes.
type brokenConn struct{ net.Conn }

func (brokenConn) Write([]byte) (int, error) { panic("boom") }

func TestAPanicWhileFlushingEndsTheConnection(t *testing.T) {
	cfg := &Config{}
	check := panicky(t, cfg)
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := New(brokenConn{ours}, nil, cfg)
	r := newRecorder()
	c.Serve(r)
	c.Append(nil, []byte("x"))
	c.Flush()
	check()
	r.abrupt(t, 0)
}
