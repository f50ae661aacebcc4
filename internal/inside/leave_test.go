package inside

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
)

// left waits until the one call of a container was left by its connection's goroutine.
func (w *world) left(container string) *connection {
	w.t.Helper()
	client := w.only(container).reply.x.client
	await(w.t, "the connection's goroutine to leave", client.absence.gone.Load)
	return client
}

// arrived is what has arrived on a connection, without waiting.
func arrived(t *testing.T, conn net.Conn) string {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	room, n := make([]byte, 4<<10), 0
	if err := raw.Read(func(fd uintptr) bool { n = readNow(fd, room); return true }); err != nil {
		t.Fatal(err)
	}
	return string(room[:max(n, 0)])
}

// TestAnAnswerIsDeliveredByWhoBringsIt has nobody else do it: it is there when the
// path's end has been reported.
func TestAnAnswerIsDeliveredByWhoBringsIt(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn, b := s.waiting(p, callBody)
	for range 3 {
		w.left("c1")
		p.result(b, `{"content":[]}`)
		got := arrived(t, conn)
		w.readResponse(bufio.NewReader(strings.NewReader(got)), "POST").is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		write(t, conn, postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(callBody)))+callBody)
		b = p.next()
	}
	p.result(b, `{"content":[]}`)
}

// TestRequestsThatComeEarlyAreAnsweredInOrder sends the next request while the one
// before it waits, cut where it is least convenient.
func TestRequestsThatComeEarlyAreAnsweredInOrder(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	const body = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"second"}}`
	next := postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(body))) + body
	for _, cut := range []int{1, len(next) / 2, len(next) - 1, len(next)} {
		conn, first := s.waiting(p, callBody)
		client := w.left("c1")
		write(t, conn, next[:cut])
		await(t, "the goroutine to come back", func() bool { return !client.absence.gone.Load() })
		p.result(first, `{"content":["first"]}`)
		write(t, conn, next[cut:])
		p.result(p.next(), `{"content":["second"]}`)
		in := bufio.NewReader(conn)
		w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":["first"]}}`)
		w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":2,"result":{"content":["second"]}}`)
		_ = conn.Close()
	}
}

// TestAResponseThatIsNotTakenAtOnceComesWhole answers a client that reads nothing
// until the system takes no more of what it is sent.
func TestAResponseThatIsNotTakenAtOnceComesWhole(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	result := `{"content":["` + strings.Repeat("x", maxDelivered-200) + `"]}`
	conn, b := s.waiting(p, callBody)
	requests := 1
	for {
		client := w.left("c1")
		p.result(b, result)
		client.absence.turn.Lock()
		stuck := client.absence.rest != nil
		client.absence.turn.Unlock()
		if stuck || requests > 1000 {
			break
		}
		if n, _ := client.conn.Unacknowledged(); n > 1<<20 {
			break // the goroutine was quicker than we were to see the rest
		}
		write(t, conn, postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(callBody)))+callBody)
		b = p.next()
		requests++
	}
	t.Logf("%d responses were not read", requests)
	in := bufio.NewReader(conn)
	for range requests {
		w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
	}
}

// TestAConnectionIsIdleFromItsAnswerOn has one closed that nobody uses after an
// exchange that was left.
func TestAConnectionIsIdleFromItsAnswerOn(t *testing.T) {
	const idle = 200 * time.Millisecond
	w := newWorld(t, func(o *options) { o.pace.idle = idle })
	s, p := w.connect("c1"), w.provide("c1")
	conn, b := s.waiting(p, callBody)
	w.left("c1")
	answered := time.Now()
	p.result(b, `{"content":[]}`)
	in := bufio.NewReader(conn)
	w.readResponse(in, "POST").is(200, "")
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
	if took := time.Since(answered); took < idle {
		t.Errorf("it was closed after %v", took)
	}
}

// TestAPanicOfWhoDeliversEndsTheConnection breaks the clock under it: the client
// must not wait for ever.
func TestAPanicOfWhoDeliversEndsTheConnection(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn, b := s.waiting(p, callBody)
	w.left("c1")
	w.clock.breakOnce("a test panic")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nothing panicked")
			}
		}()
		p.result(b, `{"content":[]}`)
	}()
	if got, err := io.ReadAll(conn); len(got) > 0 || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// armedConn counts the deadlines that are set.
type armedConn struct {
	net.Conn
	armed int
}

func (c *armedConn) SetReadDeadline(t time.Time) error {
	c.armed++
	return c.Conn.SetReadDeadline(t)
}

func TestABusyConnectionSetsFewDeadlines(t *testing.T) {
	w := newDeafWorld(t)
	defer w.stop()
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	counted := &armedConn{Conn: ours}
	c := &connection{handler: w.handler, conn: sock.Wrap(counted)}
	began := time.Now()
	for i := range 1000 {
		now := began.Add(time.Duration(i) * time.Millisecond)
		for _, wait := range []time.Duration{5 * time.Second, time.Minute} {
			if err := c.arm(now, now.Add(wait)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if counted.armed != 1 {
		t.Errorf("%d deadlines were set, want 1", counted.armed)
	}
	if err := c.arm(began, began.Add(time.Second)); err != nil || counted.armed != 2 {
		t.Errorf("a nearer one: %v, %d were set", err, counted.armed)
	}
}

// TestACallThatComesTooLateEndsNoRead calls a connection back that is no longer away.
func TestACallThatComesTooLateEndsNoRead(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	conn, b := s.waiting(p, callBody)
	client := w.left("c1")
	p.result(b, `{"content":[]}`)
	in := bufio.NewReader(conn)
	w.readResponse(in, "POST").is(200, "")
	late := func() {
		if err := client.conn.SetReadDeadline(longAgo); err != nil {
			t.Error(err)
		}
	}
	ping := postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(pingBody))) + pingBody
	for i := range len(ping) {
		late()
		write(t, conn, ping[i:i+1])
	}
	w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
}
