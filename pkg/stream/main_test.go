package stream

import (
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f with a hub whose streams end with it.
func bubble(t *testing.T, config Config, f func(t *testing.T, h *Hub, c *Counters)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if config.Counters == nil {
			config.Counters = new(Counters)
		}
		h := NewHub(&config)
		f(t, h, config.Counters)
		h.Close(CloseShutdown)
		synctest.Wait()
		atRest(t, config.Counters)
	})
}

// atRest checks that no gauge holds anything.
func atRest(t testing.TB, c *Counters) {
	t.Helper()
	if s, q, b := c.Streams.Load(), c.Queued.Load(), c.QueuedBytes.Load(); s != 0 || q != 0 || b != 0 {
		t.Errorf("at rest the gauges are: %d streams, %d queued, %d bytes", s, q, b)
	}
}

func lossy(s string) Message        { return Message{Bytes: []byte(s)} }
func kept(s string) Message         { return Message{Bytes: []byte(s), Keep: true} }
func keyed(key, s string) Message   { return Message{Bytes: []byte(s), Key: key} }
func sized(b string, n int) Message { return lossy(strings.Repeat(b, n)) }

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// reasons collects what close callbacks are told.
type reasons chan CloseReason

func (r reasons) told(_ *Stream, why CloseReason) { r <- why }

func (r reasons) only(t *testing.T, want CloseReason) {
	t.Helper()
	synctest.Wait()
	if len(r) != 1 {
		t.Fatalf("the callback was told %d times", len(r))
	}
	expect(t, "reason", <-r, want)
}

func newReasons() reasons { return make(reasons, 16) }
