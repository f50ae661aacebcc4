package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
)

// patience is how long a test waits for what must come, on a machine that may have much else to do.
const patience = time.Minute

// shortly is how long what does not come is waited for.
const shortly = 200 * time.Millisecond

var quiet = slog.New(slog.DiscardHandler)

// unhurried lets no timeout decide that the test does not set.
func (c Config) unhurried() Config {
	if c.Logger == nil {
		c.Logger = quiet
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = patience
		if c.silence == 0 {
			c.silence = patience
		}
	}
	return c
}

func open(t *testing.T, cfg Config) *Upstream {
	t.Helper()
	u, err := New(cfg.unhurried())
	if err != nil {
		t.Fatal(err)
	}
	u.jitter = func() float64 { return 0.1 }
	t.Cleanup(func() {
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	})
	return u
}

func soon[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatal("nothing came in time")
		panic("unreachable")
	}
}

// give is the reverse of soon.
func give[T any](t *testing.T, to chan<- T, v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case to <- v:
	case <-timer.C:
		t.Fatal("nobody took it in time")
	}
}

// patient is the context of calls that must end by themselves.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// ask makes one ask, which must be answered with a result.
func ask(t *testing.T, u *Upstream, k codec.Kind, params string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := u.Answer(ctx, k, []byte(params))
	if err != nil {
		t.Fatalf("%s %s: %v", k.Method(), params, err)
	}
	return string(result)
}

// fails makes one ask, which must be answered with an error object.
func fails(t *testing.T, u *Upstream, k codec.Kind, params string) *codec.Error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := u.Answer(ctx, k, []byte(params))
	var object *codec.Error
	if !errors.As(err, &object) {
		t.Fatalf("%s %s: result %s, error %v; want an error object", k.Method(), params, result, err)
	}
	return object
}

// outwardly is all that a caller may be told of a failure.
var outwardly = regexp.MustCompile(`^the upstream MCP server( cannot be reached| was lost before it answered| refused the request \(HTTP status [0-9]{3}\)|'s answer is none to this request)$`)

// discreet wants an error that says this and nothing that a container must not know.
func discreet(t *testing.T, got *codec.Error, told string) {
	t.Helper()
	// No address, path, command or word of the server's fits between the fixed words.
	if !outwardly.MatchString(got.Message) || !strings.HasSuffix(got.Message, told) || got.Code != codeInternal || got.Data != nil {
		t.Errorf("the caller is told %s; want nothing but %q", got.Append(nil), told)
	}
}

// text is the first text of a tool's result.
func text(t *testing.T, result string) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(result), &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("result %.200s: %v", result, err)
	}
	return r.Content[0].Text
}

// hear opens a notifications path.
func hear(t *testing.T, u *Upstream) <-chan string {
	heard := make(chan string, 10_000)
	listen(t, u.seat, func(n []byte) error { heard <- string(n); return nil })
	return heard
}

// listen opens a notifications path, which is closed with the test or by the function returned.
func listen(t *testing.T, s *seat, send func([]byte) error) (closePath func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	p := s.keeper.feed.open(s, send)
	go func() { done <- s.relay(ctx, p) }()
	closePath = sync.OnceFunc(func() {
		cancel()
		if err := soon(t, done); err != nil {
			t.Errorf("Notifications returned %v", err)
		}
	})
	t.Cleanup(closePath)
	return closePath
}
