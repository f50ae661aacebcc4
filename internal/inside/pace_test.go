package inside

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowly has a handler speak on one end of a pipe, in a bubble where time passes
// only while everybody waits, and gives the other end to client.
func slowly(t *testing.T, client func(t *testing.T, w *world, conn net.Conn, token string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newDeafWorld(t)
		defer w.stop()
		server, conn := net.Pipe()
		w.handler.roster.arrive(server)
		w.handler.running.Add(1)
		go w.handler.speak(server)
		token, _ := w.faces.mint("c1", newest)
		client(t, w, conn, token)
		_ = conn.Close()
		<-time.After(time.Minute) // for who still drips
	})
}

func write(t testing.TB, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Error(err)
	}
}

// drip writes a byte every so often until nobody reads them any more.
func drip(conn net.Conn, text string, every time.Duration) {
	for i := range len(text) {
		<-time.After(every)
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
			return
		}
	}
}

// ends fails unless the connection ends at once.
func ends(t *testing.T, in io.Reader) {
	t.Helper()
	if b, err := io.ReadAll(in); len(b) > 0 || err != nil && err != io.ErrClosedPipe {
		t.Errorf("the connection goes on: %q, %v", b, err)
	}
}

func took(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(began); got != want {
		t.Errorf("it took %v, want %v", got, want)
	}
}

// TestConnectionThatSaysNothingIsClosedAndCounted has no time of those that made
// a request: whoever opens connections only would have all descriptors.
func TestConnectionThatSaysNothingIsClosedAndCounted(t *testing.T) {
	for name, send := range map[string]func(net.Conn){
		"nothing":   func(net.Conn) {},
		"line ends": func(conn net.Conn) { drip(conn, strings.Repeat("\r\n", 100), time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			slowly(t, func(t *testing.T, w *world, conn net.Conn, token string) {
				began := time.Now()
				go send(conn)
				ends(t, conn)
				took(t, began, usualPace.head)
				w.observed.await(t, "refused inside timeout", 1)
			})
		})
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	slowly(t, func(t *testing.T, w *world, conn net.Conn, token string) {
		ping := postHead("/containers/c1/mcp", token, fmt.Sprintf("Content-Length: %d", len(pingBody))) + pingBody
		in := bufio.NewReader(conn)
		for range 3 {
			go write(t, conn, ping+"\r\n") // an empty line begins no request
			w.readResponse(in, "POST").is(200, "")
			write(t, conn, "\r\n") // nor does one that comes later
			<-time.After(usualPace.idle - time.Second)
		}
		began := time.Now()
		ends(t, in)
		took(t, began, time.Second)
		if n := w.observed.of("refused inside timeout"); n != 0 {
			t.Errorf("%d refusals counted", n)
		}
	})
}

func TestHeadThatDoesNotArriveInTime(t *testing.T) {
	head := postHead("/containers/c1/mcp", "x", "Content-Length: 0")
	for name, send := range map[string]func(net.Conn){
		"stops": func(conn net.Conn) { _, _ = io.WriteString(conn, head[:20]) },
		"drips": func(conn net.Conn) {
			_, _ = io.WriteString(conn, head[:1])
			drip(conn, head[1:], time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			slowly(t, func(t *testing.T, w *world, conn net.Conn, token string) {
				began := time.Now()
				go send(conn)
				in := bufio.NewReader(conn)
				if r := w.readResponse(in, "POST").fails(408, codeTransport, "", "in time"); !r.closes {
					t.Error("the connection is not announced to close")
				}
				ends(t, in)
				took(t, began, usualPace.head)
				w.observed.await(t, "refused inside timeout", 1)
			})
		})
	}
}

func TestBodyThatComesSlowlyIsReadAsLongAsItComes(t *testing.T) {
	for name, framing := range map[string]struct{ header, body string }{
		"length":  {fmt.Sprintf("Content-Length: %d", len(pingBody)), pingBody[20:]},
		"chunked": {"Transfer-Encoding: chunked", pingBody[20:] + "\r\n0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			slowly(t, func(t *testing.T, w *world, conn net.Conn, token string) {
				start := pingBody[:20]
				if name == "chunked" {
					start = fmt.Sprintf("%x\r\n", len(pingBody)) + start
				}
				go func() {
					write(t, conn, postHead("/containers/c1/mcp", token, framing.header)+start)
					drip(conn, framing.body, usualPace.step-time.Second)
				}()
				w.readResponse(bufio.NewReader(conn), "POST").is(200, "")
			})
		})
	}
}

func TestBodyThatDoesNotArriveInTime(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		send   func(net.Conn)
		after  time.Duration
	}{
		"stops":       {"Content-Length: 100", func(conn net.Conn) { _, _ = io.WriteString(conn, "{") }, usualPace.step},
		"chunk stops": {"Transfer-Encoding: chunked", func(conn net.Conn) { _, _ = io.WriteString(conn, "64\r\n{") }, usualPace.step},
		"size stops":  {"Transfer-Encoding: chunked", func(conn net.Conn) { _, _ = io.WriteString(conn, "6") }, usualPace.step},
		"drips":       {"Content-Length: 100", func(conn net.Conn) { drip(conn, strings.Repeat(" ", 100), 7*time.Second) }, usualPace.body},
	} {
		t.Run(name, func(t *testing.T) {
			slowly(t, func(t *testing.T, w *world, conn net.Conn, token string) {
				began := time.Now()
				go func() {
					write(t, conn, postHead("/containers/c1/mcp", token, c.header))
					c.send(conn)
				}()
				in := bufio.NewReader(conn)
				w.readResponse(in, "POST").fails(408, codeTransport, "", "in time")
				ends(t, in)
				took(t, began, c.after)
			})
		})
	}
}

// TestAnAnswerMayTakeAsLongAsItLikes has a call and an event stream outlive what
// limits the reading of requests.
func TestAnAnswerMayTakeAsLongAsItLikes(t *testing.T) {
	const short = 200 * time.Millisecond // and yet longer than a client takes from its connection to its request
	w := newWorld(t, func(o *options) { o.pace = pace{idle: short, head: patience, step: patience, body: patience} })
	s, p := w.connect("c1"), w.provide("c1")
	s.http.CloseIdleConnections()
	p.exchange(s)
	stream := s.listen()
	conn := w.raw(postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(callBody))) + callBody)
	a := p.next()
	for range 3 { // each after short
		if _, err := io.ReadAll(w.raw("GET /nowhere HTTP/1.1\r\nHost: gateway\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	p.notify(numbered(1))
	stream.event(versioned(numbered(1)))
	p.result(a, `{"content":[]}`)
	w.readResponse(bufio.NewReader(conn), "POST").is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
}
