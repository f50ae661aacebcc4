package inside

import (
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

func TestConfigIsChecked(t *testing.T) {
	policy := new(stream.Config)
	for name, c := range map[string]FacesConfig{
		"no stream policy": {SessionKey: testKey, SessionTTL: time.Hour},
		"no key":           {Stream: policy, SessionTTL: time.Hour},
		"no TTL":           {Stream: policy, SessionKey: testKey},
	} {
		if _, err := NewFaces(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	faces, err := NewFaces(FacesConfig{Stream: policy, SessionKey: testKey, SessionTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	m := mux.New(mux.Config{NewSink: faces.New})
	for name, c := range map[string]Config{
		"no mux":         {Faces: faces, MaxBody: 1, KeepAlive: time.Second},
		"no faces":       {Mux: m, MaxBody: 1, KeepAlive: time.Second},
		"no body limit":  {Mux: m, Faces: faces, KeepAlive: time.Second},
		"no keep-alive":  {Mux: m, Faces: faces, MaxBody: 1},
		"negative limit": {Mux: m, Faces: faces, MaxBody: -1, KeepAlive: time.Second},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestReasonsAreDistinct keeps two refusals from sharing a counter.
func TestReasonsAreDistinct(t *testing.T) {
	seen := make(map[string]bool)
	for _, reason := range Reasons() {
		if seen[reason] {
			t.Errorf("%s is there twice", reason)
		}
		seen[reason] = true
	}
}

// TestPanicOnAStreamEndsThatStream breaks the clock under a stream that ends.
func TestPanicOnAStreamEndsThatStream(t *testing.T) {
	w := newWorld(t)
	e := w.connect("c1").listen()
	other := w.connect("c1")
	kept := other.listen()
	face := w.mux.Lookup("c1").Sink().(*Face)
	face.mu.Lock()
	var broken *events
	for s := range face.streams.all() {
		if s.conn.RemoteAddr().String() == e.conn.LocalAddr().String() {
			broken = s
		}
	}
	face.mu.Unlock()
	w.clock.breakOnce("a test panic")
	_ = e.conn.Close()
	w.observed.await(t, "panicked "+PanicStream, 1)
	await(t, "the stream's end", func() bool { return w.streams.Streams.Load() == 1 })
	if _, closed := broken.stream.Closed(); !closed {
		t.Error("the stream is open")
	}
	kept.conn.Close()
	other.send(pingBody).is(200, "")
}
