package upstream

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// helper is this test binary in another role.
func helper(t *testing.T, role string, log *slog.Logger) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The race detector would have every process linger for a second at its exit.
	return Config{Command: []string{self}, Env: []string{commandRole + "=" + role, "GORACE=atexit_sleep_ms=0"}, Logger: log}
}

// journal is a log to look into.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) has(t *testing.T, want string) {
	t.Helper()
	if text := j.String(); !strings.Contains(text, want) {
		t.Errorf("the log does not say %q:\n%s", want, text)
	}
}

func (j *journal) count(what string) int { return strings.Count(j.String(), what) }

func TestACommandIsAnsweredFrom(t *testing.T) {
	log := &journal{}
	u := open(t, helper(t, "server", log.logger()))
	if got := ask(t, u, codec.ListTools, "null"); !strings.Contains(got, `"echo"`) {
		t.Errorf("tools/list: %s", got)
	}
	if got := ask(t, u, codec.ReadResource, `{"uri":"test:r"}`); !strings.Contains(got, `"contents"`) {
		t.Errorf("resources/read: %s", got)
	}
	const arguments = `{"big":9007199254740993,"s":"\n<&>"}`
	if got := text(t, ask(t, u, codec.CallTool, `{"name":"echo","arguments":`+arguments+`}`)); got != arguments {
		t.Errorf("the arguments came back as %s", got)
	}
	if got := len(text(t, ask(t, u, codec.CallTool, `{"name":"large"}`))); got != 3_000_000 {
		t.Errorf("%d bytes came, want 3,000,000", got)
	}
	if got := text(t, ask(t, u, codec.CallTool, `{"name":"ask-back"}`)); got != "ping ok" {
		t.Errorf("ask-back: %s", got)
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	log.has(t, `stderr="hello from server"`)
}

func TestProgressOfACommandIsHeardBeforeTheAnswer(t *testing.T) {
	u := open(t, helper(t, "server", quiet))
	heard := hear(t, u)
	ask(t, u, codec.CallTool, `{"name":"progress","_meta":{"progressToken":5}}`)
	if len(heard) != 50 {
		t.Fatalf("%d notifications before the answer, want 50", len(heard))
	}
}

func TestACommandThatExitsIsStartedAgain(t *testing.T) {
	log := &journal{}
	u := open(t, helper(t, "server", log.logger()))
	heard := hear(t, u)
	ask(t, u, codec.ListTools, "null")
	for range 2 {
		discreet(t, fails(t, u, codec.CallTool, `{"name":"exit"}`), "was lost before it answered")
		log.has(t, "exit status 7")
		changes(t, heard)
		ask(t, u, codec.ListTools, "null")
	}
	if s := u.Stats(); s.Sessions != 3 || s.Repeated != 0 {
		t.Fatalf("stats %+v", s)
	}
}

func TestACommandThatDoesNotServe(t *testing.T) {
	log := &journal{}
	u := open(t, helper(t, "exit", log.logger()))
	discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
	log.has(t, "exit status 3")
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	log.has(t, `stderr="cannot go on"`)

	log = &journal{}
	u = open(t, Config{Command: []string{"/nonexistent/program"}, Logger: log.logger()})
	discreet(t, fails(t, u, codec.ListTools, "null"), "cannot be reached")
	log.has(t, "/nonexistent/program: no such file")
}

func TestLinesThatAreNoMessagesAreSkipped(t *testing.T) {
	log := &journal{}
	u := open(t, helper(t, "noisy", log.logger()))
	ask(t, u, codec.ListTools, "null")
	if s := u.Stats(); s.Noise != 2 || s.Sessions != 1 {
		t.Errorf("stats %+v", s)
	}
	log.has(t, `line="Server listening on stdio"`)
	log.has(t, `line="[info] ready"`)
}

func TestACommandThatDoesNotEndByItselfIsTerminated(t *testing.T) {
	t.Parallel()
	cfg := helper(t, "deaf", quiet)
	cfg.exit = shortly
	u := open(t, cfg)
	ask(t, u, codec.ListTools, "null")
	if err := u.Close(); err != nil { // returns when the process is gone
		t.Fatal(err)
	}
}

func TestMessageLinesInPieces(t *testing.T) {
	const input = "  {\"a\":1}\nnoise\n[ {\"b\":2}]\n[info] x\n\n[\n{\"c\":3}\nlast"
	for size := 1; size <= len(input); size++ {
		var passed bytes.Buffer
		var noise []string
		m := &messageLines{to: &passed, noise: func(s string) { noise = append(noise, s) }}
		for rest := []byte(input); len(rest) > 0; {
			n := min(size, len(rest))
			if got, err := m.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("Write: %d, %v", got, err)
			}
			rest = rest[n:]
		}
		if got := passed.String(); got != "  {\"a\":1}\n[ {\"b\":2}]\n{\"c\":3}\n" {
			t.Fatalf("in pieces of %d: passed %q", size, got)
		}
		if got := strings.Join(noise, "|"); got != "noise|[info] x|[" {
			t.Fatalf("in pieces of %d: noise %q", size, got)
		}
	}
}

// broken is a connection to a process that has closed its input.
type broken struct {
	mcp.Connection
	tried chan struct{}
}

func (b broken) Write(context.Context, jsonrpc.Message) error {
	close(b.tried)
	return syscall.EPIPE
}

func TestHowACommandExitedIsTheReasonThatItTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("exit status 3")
		for _, exits := range []bool{true, false} {
			l := &commandLink{conn: broken{tried: make(chan struct{})}, patience: exitTimeout, turn: make(chan struct{}, 1), exited: make(chan struct{})}
			written := make(chan error, 1)
			go func() { written <- l.write(t.Context(), &jsonrpc.Request{Method: "m"}) }()
			<-l.conn.(broken).tried
			want := error(syscall.EPIPE)
			if exits {
				<-time.After(exitTimeout / 2)
				want, l.end = reason, reason
				close(l.exited)
			}
			var lost *brokenError
			if err := <-written; !errors.As(err, &lost) || !errors.Is(err, want) {
				t.Errorf("exits %v: the write failed with %v", exits, err)
			}
		}
	})
}
