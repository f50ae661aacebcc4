package outside

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const nowhere = "GET /nowhere HTTP/1.1\r\nHost: g\r\n"

func TestRequestsThatCameTogetherAreAnsweredInOrder(t *testing.T) {
	w := begin(t)
	c := w.plain()
	if _, err := io.WriteString(c, "\r\n"+nowhere+"\r\n\r\n\nDELETE /requests HTTP/1.1\r\nHost: g\r\n\r\nGET /requests HTTP/1.1\r\n"+upgradeHeaders+"\r\n\x89\x80abcd"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for _, want := range []int{404, 405, 101} {
		if got := readReply(t, r); got.StatusCode != want {
			t.Fatalf("%d, wanted %d", got.StatusCode, want)
		}
	}
	var pong [2]byte
	if _, err := io.ReadFull(r, pong[:]); err != nil || pong != [2]byte{0x8a, 0} {
		t.Errorf("%x %v, wanted the pong of the ping that came early", pong, err)
	}
}

func TestAfterARefusalTheConnectionIsWhatTheClientWants(t *testing.T) {
	w := begin(t)
	for request, want := range map[string]struct {
		connection string
		goesOn     bool
	}{
		nowhere:                                                  {"", true},
		nowhere + "Connection: close\r\n":                        {"close", false},
		nowhere + "Content-Length: 0\r\n":                        {"", true},
		nowhere + "Content-Length: 1\r\n":                        {"close", false},
		"GET /nowhere HTTP/1.0\r\n":                              {"close", false},
		"GET /nowhere HTTP/1.0\r\nConnection: keep-alive\r\n":    {"keep-alive", true},
		"GET /requests HTTP/1.1\r\nHost: g\r\n":                  {"", true},
		"GET /mcp/call-tool/1 HTTP/1.1\r\n" + upgradeHeaders:     {"close", false}, // frames may be on their way
		"GET /nowhere HTTP/1.1\r\nHost: g\r\nHost: h\r\n":        {"close", false},
		"HEAD /nowhere HTTP/1.1\r\nHost: g\r\n":                  {"", true},
		"OPTIONS /requests HTTP/1.1\r\nHost: g\r\nExpect: x\r\n": {"", true},
	} {
		c := w.plain()
		if _, err := io.WriteString(c, request+"\r\n"); err != nil {
			t.Fatal(err)
		}
		method, _, _ := strings.Cut(request, " ")
		r := bufio.NewReader(c)
		response, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Errorf("%q: %v", request, err)
		}
		if connection := strings.Join(response.Header.Values("Connection"), ","); response.ContentLength < 10 || connection != want.connection && !response.Close {
			t.Errorf("%q: a body of %d, Connection %q, wanted %q", request, response.ContentLength, connection, want.connection)
		}
		if _, err := io.WriteString(c, nowhere+"\r\n"); err != nil && want.goesOn {
			t.Fatal(err)
		}
		switch b, err := r.Peek(1); {
		case want.goesOn && (err != nil || b[0] != 'H'):
			t.Errorf("%q: %q %v, wanted another response", request, b, err)
		case !want.goesOn && err == nil:
			t.Errorf("%q: %q, wanted the end", request, b)
		}
		_ = c.Close()
	}
}

func TestEachRequestHasItsTime(t *testing.T) {
	const timeout = 200 * time.Millisecond
	w := begin(t, withTimeout(timeout))
	c := w.plain()
	r := bufio.NewReader(c)
	pause := time.NewTicker(timeout * 2 / 3)
	defer pause.Stop()
	for range 4 {
		if _, err := io.WriteString(c, nowhere+"\r\n"); err != nil {
			t.Fatal(err)
		}
		if got := readReply(t, r); got.StatusCode != 404 {
			t.Fatalf("%d", got.StatusCode)
		}
		<-pause.C
	}
}

func TestARequestThatBreaksOffIsMalformed(t *testing.T) {
	w := begin(t)
	c := w.plain()
	if _, err := io.WriteString(c, nowhere); err != nil {
		t.Fatal(err)
	}
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := readReply(t, bufio.NewReader(c)); got.StatusCode != 400 || !strings.Contains(got.text, "ended") {
		t.Errorf("%d %q", got.StatusCode, got.text)
	}
}

func TestAPanicInARefusalEndsOneConnectionOnly(t *testing.T) {
	w := begin(t)
	w.faulty = true
	w.counts.mu.Lock()
	w.counts.cursedReason = string(ReasonUnknownPath)
	w.counts.mu.Unlock()
	c := w.plain()
	if _, err := io.WriteString(c, nowhere+"\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%v, wanted the end", err)
	}
	eventually(t, "the panic is counted", func() bool { return w.counts.panics() == 1 })
	w.provider("default").quiet()
}

// TestFewGoroutinesRest has many connections end at once; those of the crew that
// have rested go with the shutdown, which the test's end looks at.
func TestFewGoroutinesRest(t *testing.T) {
	w := begin(t)
	for range 3 {
		conns := make([]io.ReadWriteCloser, 2*maxResting)
		for i := range conns {
			conns[i] = w.plain()
			fmt.Fprint(conns[i], nowhere+"\r\n")
		}
		for _, c := range conns {
			if got := readReply(t, bufio.NewReader(c)); got.StatusCode != 404 {
				t.Fatalf("%d", got.StatusCode)
			}
		}
		for _, c := range conns {
			_ = c.Close()
		}
		eventually(t, "all but a few have gone", func() bool {
			w.handler.roster.mu.Lock()
			defer w.handler.roster.mu.Unlock()
			return w.handler.roster.arrivals.count == 0 && w.handler.crew.resting.Load() == maxResting
		})
	}
}
