package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// flood is a process that prints garbage for as long as it lives.
func flood(to io.Writer) {
	lines := bytes.Repeat([]byte("y\n[info] garbage\n"), 2000)
	for {
		if _, err := to.Write(lines); err != nil {
			lastUntilTerminated() // the other stream goes on
		}
	}
}

// lastUntilTerminated is what a process does that has nothing left to do, and does not exit over it.
func lastUntilTerminated() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
}

// begs is many times maxReplies, and what the log may have of them.
const begs = 2000

// beg is a process that sends begs requests during a call, and reads nothing from then on.
func beg() int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := errors.Join(err, json.Unmarshal(line, &m)); err != nil {
			return 1
		}
		switch m.Method {
		case methodDiscover:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n", m.ID)
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"beggar","version":"0"}}}`+"\n", m.ID, offered)
		case "tools/call":
			var text strings.Builder
			for i := range begs {
				fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{}}`+"\n", i)
			}
			fmt.Print(text.String())
			lastUntilTerminated()
			return 0
		}
	}
}

// few wants no more lines of any message than a log may have in so much time.
func (j *journal) few(t *testing.T, since time.Time, messages ...string) {
	t.Helper()
	periods := int(time.Since(since)/logPeriod) + 2
	for _, message := range messages {
		if n := j.count(fmt.Sprintf("msg=%q", message)); n == 0 || n > periods*logLines {
			t.Errorf("%d lines %q in %d periods", n, message, periods)
		}
		if n := j.count(fmt.Sprintf("of=%q", message)); n == 0 || n > periods {
			t.Errorf("%d lines about lines %q left out in %d periods", n, message, periods)
		}
	}
}

func TestAFloodOfGarbageFloodsNoLogAndHoldsUpNoClose(t *testing.T) {
	t.Parallel()
	log := &journal{}
	began := time.Now()
	cfg := helper(t, "flood", log.logger())
	cfg.exit = shortly
	u := open(t, cfg)
	asked := make(chan *codec.Error, 1)
	go func() { asked <- fails(t, u, codec.ListTools, "null") }()
	until(t, "flood", func() bool { return u.Stats().Noise > 100_000 })
	closed := make(chan error, 1)
	go func() { closed <- u.Close() }() // the flood goes on until the process is terminated
	discreet(t, soon(t, asked), "cannot be reached")
	if err := soon(t, closed); err != nil {
		t.Error(err)
	}
	log.few(t, began, "skipped a line of the MCP server's standard output that is no message", "the MCP server says")
	log.has(t, "upstream="+u.dialer.String())
}

func TestACommandThatAsksAndDoesNotReadHoldsUpNeitherCallsNorClose(t *testing.T) {
	t.Parallel()
	log := &journal{}
	began := time.Now()
	cfg := helper(t, "beggar", log.logger())
	cfg.exit, cfg.courtesy = shortly, shortly
	u := open(t, cfg)
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("the caller is gone")
	big := `{"big":"` + strings.Repeat("x", 1<<20) + `"}` // fills the pipe
	failed := make(chan error, 3)
	for range cap(failed) {
		go func() {
			_, err := u.Answer(ctx, codec.CallTool, []byte(big))
			failed <- err
		}()
	}
	until(t, "requests of the server", func() bool { return u.Stats().Declined >= begs })
	cancel(gone)
	for range cap(failed) {
		if err := soon(t, failed); !errors.Is(err, gone) {
			t.Errorf("a call ended with %v", err)
		}
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	log.few(t, began, "left a request of the MCP server without an answer: it asks faster than it takes answers")
}

// stuck is a link that takes no answers.
type stuck struct {
	*memoryLink
	writing chan struct{}
}

func (l stuck) write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		l.writing <- struct{}{}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return l.memoryLink.write(ctx, msg)
}

func TestAnswersToTheServersRequestsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newMemory()
		s := openShared(t, server, Config{})
		if _, err := server.dial(t.Context(), quiet); err != nil {
			t.Fatal(err)
		}
		l := stuck{server.to(), make(chan struct{}, 10_000)}
		session := newSession(s.keeper, l)
		for range 10_000 {
			l.in <- &jsonrpc.Request{ID: makeID(1), Method: "sampling/createMessage"}
		}
		synctest.Wait()
		if got := len(l.writing); got != maxReplies {
			t.Errorf("%d answers are on their way, want %d", got, maxReplies)
		}
		if got := s.Stats().Declined; got != 10_000 {
			t.Errorf("%d requests were declined", got)
		}
		session.close()
	})
}

func TestALogTellsTenLinesOfASortInASecondAndHowManyItLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &journal{}
		handler, bounds := newCalm(out.logger().With("upstream", "u").Handler())
		log := slog.New(handler)
		seat := log.With("container", "c").WithGroup("g")
		lines := func(n int, message string) {
			for i := range n {
				if i%2 == 0 {
					log.Warn(message)
				} else {
					seat.Warn(message, "k", "v")
				}
			}
		}
		wants := func(kept, told int, tail string) {
			t.Helper()
			synctest.Wait()
			if got := out.count("msg=flood"); got != kept {
				t.Errorf("%d lines, want %d", got, kept)
			}
			if got := out.count("left out"); got != told || !strings.HasSuffix(strings.TrimSpace(out.String()), tail) {
				t.Errorf("%d lines about others, want %d, the last %q:\n%s", got, told, tail, out)
			}
		}
		lines(logLines, "flood")
		<-time.After(logPeriod)
		wants(10, 0, "") // nothing was left out
		lines(100_000, "flood")
		log.Info("other")
		wants(20, 0, "msg=other upstream=u") // a flood hides nothing else
		<-time.After(logPeriod)
		wants(20, 1, `level=WARN msg="more lines were left out" upstream=u lines=99990 of=flood`)
		<-time.After(time.Hour)
		wants(20, 1, "lines=99990 of=flood")
		lines(15, "flood")
		bounds.close()
		wants(30, 2, "lines=5 of=flood")
		lines(15, "flood")
		<-time.After(time.Hour)
		wants(30, 2, "of=flood") // 15 more of the same second, after the end
	})
}

func TestWhatTheServerSaysIsLoggedInPart(t *testing.T) {
	out := &journal{}
	handler, bounds := newCalm(out.logger().Handler())
	defer bounds.close()
	long := strings.Repeat("é", 1<<20)
	slog.New(handler).Info("m", "text", long, "error", errors.New(long), "n", 7)
	if got := out.String(); len(got) > 3*logValue || !strings.Contains(got, " error=éé") || !strings.HasSuffix(got, "… n=7\n") {
		t.Errorf("%d bytes were logged", len(got))
	}
}

func TestBlanksWithoutEndAreNotKept(t *testing.T) {
	var passed bytes.Buffer
	skipped := 0
	m := &messageLines{to: &passed, noise: func(string) { skipped++ }}
	for range 1000 {
		if _, err := m.Write(bytes.Repeat([]byte(" "), 4096)); err != nil {
			t.Fatal(err)
		}
	}
	if got := cap(m.held); got > 16<<10 {
		t.Errorf("%d bytes are kept", got)
	}
	if _, err := m.Write([]byte("\n{}\n")); err != nil || passed.String() != "{}\n" || skipped != 1 {
		t.Errorf("passed %q, skipped %d, %v", passed.String(), skipped, err)
	}
}

func BenchmarkGarbage(b *testing.B) {
	handler, bounds := newCalm(slog.NewTextHandler(io.Discard, nil))
	defer bounds.close()
	log := slog.New(handler)
	m := &messageLines{to: io.Discard, noise: func(line string) { log.Warn("skipped", "line", line) }}
	lines := bytes.Repeat([]byte("y\n"), 16<<10)
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		if _, err := m.Write(lines); err != nil {
			b.Fatal(err)
		}
	}
}
