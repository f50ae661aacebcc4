package inside

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/limit"
)

// bounded is a world in which so many bytes may be held, for a container and in all.
func bounded(t *testing.T, perContainer, total int64) (w *world, b *limit.Budget) {
	b = limit.NewBudget(perContainer, total)
	w = newDeafWorld(t)
	w.handler.cfg.Budget = b
	w.listen()
	return w, b
}

func bigCall(id, size int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"x":%q}}}`, id, strings.Repeat("x", size))
}

// limited checks what a refusal says of its limit.
func (r response) limited(reason string, most int64) {
	r.t.Helper()
	var got struct {
		Error struct {
			Data faultData `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Error.Data.Reason != reason || int64(got.Error.Data.Limit) != most {
		r.t.Errorf("%s: want the reason %s and the limit %d", r.body, reason, most)
	}
}

func TestABodyWithoutRoomIsRefusedBeforeTheRestOfItIsRead(t *testing.T) {
	for _, test := range []struct {
		name                string
		perContainer, total int64
		status              int
		most                int64
	}{
		{limit.Buffered, 64 << 10, 0, http.StatusTooManyRequests, 64 << 10},
		{limit.BufferedTotal, 0, 32 << 10, http.StatusServiceUnavailable, 32 << 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, b := bounded(t, test.perContainer, test.total)
			s := w.connect("c1")
			head := postHead("/containers/c1/mcp", s.token, fmt.Sprintf("Content-Length: %d", 1<<20))
			conn := w.raw(head + strings.Repeat("x", 100<<10)) // and no more
			r := w.readResponse(bufio.NewReader(conn), http.MethodPost)
			r.fails(test.status, codeInternal, "", "--"+test.name+")")
			r.limited(test.name, test.most)
			if r.header.Get("Retry-After") != "1" || !r.closes {
				t.Errorf("the response has the headers %v", r.header)
			}
			if n := w.observed.of("refused inside " + test.name); n != 1 {
				t.Errorf("it was counted %d times", n)
			}
			_ = conn.Close()
			w.stop()
			if b.Used() != 0 {
				t.Errorf("%d bytes are held", b.Used())
			}
		})
	}
}

func TestADeclaredLengthHoldsNothing(t *testing.T) {
	w, b := bounded(t, 64<<10, 0)
	s := w.connect("c1")
	p := w.provide("c1")
	for range 20 {
		w.raw(postHead("/containers/c1/mcp", s.token, fmt.Sprintf("Content-Length: %d", 8<<20)))
	}
	reply := s.start(bigCall(1, 20<<10))
	a := p.next()
	if used := b.Fullest(); used < 20<<10 || used > 64<<10 {
		t.Errorf("a body of 20 KiB holds %d bytes", used)
	}
	p.result(a, `{"content":[]}`)
	reply.wait(http.StatusOK)
}

func TestWhatIsRewrittenOfARequestCountsToo(t *testing.T) {
	w, b := bounded(t, 48<<10, 0)
	s := w.connect("c1")
	w.provide("c1")
	call := strings.Replace(bigCall(7, 24<<10), `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
	r := s.send(call)
	r.fails(http.StatusTooManyRequests, codeInternal, "7", "--max-buffered)")
	r.limited(limit.Buffered, 48<<10)
	w.stop()
	if b.Used() != 0 {
		t.Errorf("%d bytes are held", b.Used())
	}
}

func TestACopyOfAnAnswerWithoutRoomIsAnError(t *testing.T) {
	w, b := bounded(t, 48<<10, 0)
	s := w.connect("c1")
	p := w.provide("c1")
	reply := s.start(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}`)
	// content is made of the structuredContent: that is twice as much.
	p.result(p.next(), fmt.Sprintf(`{"structuredContent":{"x":%q}}`, strings.Repeat("x", 30<<10)))
	r := reply.wait(http.StatusOK)
	r.fails(http.StatusOK, codeInternal, "7", "there is no room for the answer")
	r.limited(limit.Buffered, 48<<10)
	if n := w.observed.of("refused inside max-buffered"); n != 1 {
		t.Errorf("it was counted %d times", n)
	}
	w.stop()
	if b.Used() != 0 {
		t.Errorf("%d bytes are held", b.Used())
	}
}

func TestInABatchEachRequestHasItsOwnRefusal(t *testing.T) {
	w, _ := bounded(t, 100<<10, 0)
	init := do(t, newClient(t), w.post("/containers/c1/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`))
	p := w.provide("c1")
	one := strings.Replace(bigCall(1, 20<<10), `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
	two := strings.Replace(bigCall(2, 20<<10), `"name"`, `"_meta":{"progressToken":2},"name"`, 1)
	answered := make(chan response, 1)
	go func() {
		answered <- do(t, newClient(t), w.post("/containers/c1/mcp", "["+one+","+two+"]", with(headerSession, init.header.Get(headerSession))))
	}()
	p.result(p.next(), `{"content":[]}`)
	r := <-answered
	if r.status != http.StatusOK || !strings.Contains(r.body, `"id":1,"result"`) || !strings.Contains(r.body, `"id":2,"error"`) || !strings.Contains(r.body, `"reason":"max-buffered"`) {
		t.Errorf("%d %.300s", r.status, r.body)
	}
}

func TestNothingNewIsTakenWhileMemoryIsShort(t *testing.T) {
	w := newDeafWorld(t)
	m := limit.NewMemory(1, slog.New(slog.DiscardHandler))
	w.handler.cfg.Memory = m
	w.listen()
	s := w.connect("c1")
	p := w.provide("c1")
	reply := s.start(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}`)
	a := p.next()
	stopping, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		m.Watch(stopping)
	}()
	for !m.Short() {
		s.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
	close(stopping)
	<-ended
	for _, r := range []response{
		s.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
		do(t, newClient(t), s.request("", method(http.MethodGet))),
	} {
		r.fails(http.StatusServiceUnavailable, codeInternal, "", "short of memory")
		r.limited("memory-pressure", 1)
		if r.header.Get("Retry-After") != "1" {
			t.Errorf("the response has the headers %v", r.header)
		}
	}
	p.result(a, `{"content":[]}`)
	reply.wait(http.StatusOK)
	s.delete().is(http.StatusNoContent, "")
}
