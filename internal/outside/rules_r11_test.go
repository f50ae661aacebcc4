package outside

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/limit"
	"github.com/diverge-network/gateway/internal/wsock/wstest"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

func withStall(d time.Duration) option { return func(s *setup) { s.config.Stall = d } }

func withBudget(b *limit.Budget) option { return func(s *setup) { s.config.Budget = b } }

func (w *world) bigAsks(container string, n int) (calls []*call) {
	big := `{"name":"` + strings.Repeat("x", 1<<20-64) + `"}`
	for range n {
		calls = append(calls, w.ask(container, codec.CallTool, big))
	}
	return calls
}

func TestR11_AServerThatTakesNothingLosesItsConnectionAndItsAsksWait(t *testing.T) {
	budget := limit.NewBudget(0, 0)
	w := begin(t, withStall(time.Second), withBudget(budget))
	w.provider("stuck")
	other := w.provider("default")
	calls := w.bigAsks("stuck", 20) // more than the kernel takes
	if budget.Fullest() == 0 {
		t.Error("what is queued is not counted")
	}
	c := w.callTool(toolAsk)
	other.answer(other.call(), result(toolAnswer))
	c.answered(toolAnswer)
	eventually(t, "the asks wait", func() bool { return w.mux.Stats().Waiting == 20 })
	if n := w.counts.refusals(ReasonStall); n != 1 {
		t.Errorf("%d sockets were counted as stalled", n)
	}
	eventually(t, "nothing is held for it", func() bool { return budget.Used() == 0 })
	reads := w.provider("stuck")
	for _, c := range calls {
		reads.answer(reads.call(), result(toolAnswer))
		c.answered(toolAnswer)
	}
}

// TestR11_ASlowServerKeepsItsConnection has a server read so slowly that its socket
// takes nothing of us for longer than the stall.
func TestR11_ASlowServerKeepsItsConnection(t *testing.T) {
	const stall, piece, asks = 400 * time.Millisecond, 1 << 10, 10
	w := begin(t, withStall(stall))
	conn := w.narrow()
	if _, err := io.WriteString(conn, "GET /requests HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is claimed", func() bool { return w.mux.Stats().Connected == 1 })
	w.bigAsks("default", asks)
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for began := time.Now(); time.Since(began) < 5*stall; {
		<-pace.C
		if _, err := io.CopyN(io.Discard, conn, piece); err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
	}
	if n := w.counts.refusals(ReasonStall); n != 0 || w.mux.Stats().Connected != 1 {
		t.Errorf("%d sockets have stalled", n)
	}
}

func TestR11_AQuietServerKeepsItsConnection(t *testing.T) {
	w := begin(t, withStall(20*time.Millisecond))
	p := w.provider("default")
	quiet := time.NewTimer(200 * time.Millisecond)
	defer quiet.Stop()
	<-quiet.C
	c := w.callTool(toolAsk)
	p.answer(p.call(), result(toolAnswer))
	c.answered(toolAnswer)
}

func TestR11_MoreThanIsHeldEndsTheConnection(t *testing.T) {
	w := begin(t, func(s *setup) { s.config.MaxQueued = 8 << 20 })
	w.provider("stuck")
	for range 40 { // clients come and go, and the server reads nothing
		for _, c := range w.bigAsks("stuck", 1) {
			c.ask.Leave()
		}
	}
	eventually(t, "it is ended", func() bool { return w.counts.refusals(ReasonStall) == 1 && w.mux.Stats().Connected == 0 })
}

func TestR11_AListThatIsNotReadIsClosed(t *testing.T) {
	w := begin(t, withStall(300*time.Millisecond))
	slow := w.list(w.narrow(), listRequest)
	slow.snapshot()
	id := strings.Repeat("x", 100)
	for n := 0; w.counts.openNow(ContainersLabel) == 1; n++ {
		if n < 40_000 { // more than the kernel takes
			there(w.mux.Enter(id + strconv.Itoa(n))).Exit()
		}
	}
	eventually(t, "it is counted", func() bool { return w.counts.refusals(ReasonStall) == 1 })
}

func TestAnAnswerWithoutRoomIsTheErrorOfItsCallerAndOnlyThat(t *testing.T) {
	const size = 512 << 10
	modes(t, func(t *testing.T, w *world) {
		p := w.provider("default")
		c := w.callTool(toolAsk)
		path := p.open(p.call())
		path.Binary(result(`{"content":[],"x":"` + strings.Repeat("x", size) + `"}`))
		if code, reason := path.ReadClose(); code != 1009 || !strings.Contains(reason, "--max-buffered") {
			t.Errorf("closed with %d %q", code, reason)
		}
		full, ok := c.outcome(mux.NoRoom).err.(*limit.Full)
		if !ok || full.Name != limit.Buffered || full.Most != size/2 {
			t.Errorf("the caller was told %v", full)
		}
		if n := w.counts.refusals(ReasonMaxBuffered); n < 1 {
			t.Error("it is not counted")
		}
		p.quiet()
		c = w.callTool(toolAsk)
		p.answer(p.call(), result(toolAnswer))
		c.answered(toolAnswer)
		if used := w.handler.budget.Used(); used != 0 {
			t.Errorf("%d bytes are held", used)
		}
	}, func(s *setup) { s.config.Budget = limit.NewBudget(size/2, 0) })
}

// TestHalvesOfAnswersDoNotWaitForEachOther has several answers that would each fit
// be under way at once: none waits, and what one held others have at once.
func TestHalvesOfAnswersDoNotWaitForEachOther(t *testing.T) {
	const size = 256 << 10
	budget := limit.NewBudget(4*size, 0)
	w := begin(t, withBudget(budget))
	p := w.provider("default")
	answer := result(`{"content":[],"x":"` + strings.Repeat("x", size) + `"}`)
	var calls []*call
	var paths []*wstest.Peer
	for range 10 {
		calls = append(calls, w.callTool(toolAsk))
		paths = append(paths, p.open(p.call()))
	}
	for _, path := range paths {
		path.Send(wstest.Frame{Op: wstest.OpBinary, Payload: answer[:len(answer)-1]})
	}
	refused := func() (n int) { return w.counts.refusals(ReasonMaxBuffered) }
	eventually(t, "some are refused", func() bool { return refused() > 0 })
	told := 0
	for _, path := range paths {
		path.Reset()
	}
	w.eventuallyClosed(codec.CallTool.Name())
	for _, c := range calls {
		select {
		case s := <-c.settled:
			told++
			if s.outcome != mux.NoRoom {
				t.Errorf("a caller was told %v", s.outcome)
			}
		default:
		}
	}
	if told == 0 || told > refused() || budget.Used() != 0 {
		t.Errorf("%d callers were told of %d refusals, and %d bytes are held", told, refused(), budget.Used())
	}
}

// short is the memory of a process that has none.
func short(t *testing.T) *limit.Memory {
	m := limit.NewMemory(1, slog.New(slog.DiscardHandler))
	stopping, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		m.Watch(stopping)
	}()
	eventually(t, "memory is short", m.Short)
	close(stopping)
	<-ended
	return m
}

func TestNothingNewIsBegunWhileMemoryIsShort(t *testing.T) {
	w := begin(t, func(s *setup) { s.config.Memory = short(t) })
	there(w.mux.Enter("known")).Exit()
	p := w.provider("known")
	c := w.ask("known", codec.CallTool, toolAsk)
	p.answer(p.call(), result(toolAnswer))
	c.answered(toolAnswer)
	for _, request := range []string{"/containers/new/requests", "/containers"} {
		r := w.raw(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", request))
		if r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: %d %v", request, r.StatusCode, r.Header)
		}
	}
	if w.counts.refusals(ReasonMemory) != 2 || w.mux.Lookup("new") != nil {
		t.Errorf("%d refusals; begun: %v", w.counts.refusals(ReasonMemory), w.mux.Lookup("new") != nil)
	}
}
