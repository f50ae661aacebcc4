package inside

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestHeadsThatAreRefusedAtOnce sends what two parties may read differently, or
// one of them not at all; the connection is of no use afterwards.
func TestHeadsThatAreRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	head := func(lines ...string) string { return postHead(s.path, s.token, lines...) }
	for name, request := range map[string]string{
		"identity":                    head("Transfer-Encoding: identity") + pingBody,
		"identity and a length":       head("transfer-encoding: identity", "Content-Length: 40") + pingBody,
		"gzip":                        head("Transfer-Encoding: gzip, chunked"),
		"empty coding":                head("Transfer-Encoding: ") + pingBody,
		"two codings":                 head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
		"coding of HTTP/1.0":          strings.Replace(head("Transfer-Encoding: chunked"), "HTTP/1.1", "HTTP/1.0", 1),
		"identity of HTTP/1.0":        strings.Replace(head("Transfer-Encoding: identity"), "HTTP/1.1", "HTTP/1.0", 1),
		"folded coding":               head("Transfer-Encoding:", " identity"),
		"folded length":               head("Content-Length:", " 40") + pingBody,
		"folded session":              head("Content-Length: 40", "Mcp-Session-Id: x", " y"),
		"coding and a length":         head("Transfer-Encoding: chunked", "Content-Length: 40") + "0\r\n\r\n",
		"length and a coding":         head("Content-Length: 40", "Transfer-Encoding: chunked") + pingBody,
		"name with a space":           head("Transfer Encoding: chunked", "Content-Length: 40"),
		"name before a space":         head("Transfer-Encoding : chunked"),
		"two lengths":                 head("Content-Length: 40", "Content-Length: 41"),
		"one length twice":            head("Content-Length: 40", "Content-Length: 40"),
		"length with a sign":          head("Content-Length: +40"),
		"lengths in a list":           head("Content-Length: 40, 40"),
		"HTTP/2":                      strings.Replace(head("Content-Length: 40"), "HTTP/1.1", "HTTP/2.0", 1),
		"preface of HTTP/2":           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/0.9":                    "GET " + s.path + "\r\n\r\n",
		"two hosts":                   head("Host: other", "Content-Length: 40"),
		"no host":                     strings.Replace(head("Content-Length: 40"), "Host: gateway\r\n", "", 1),
		"host that is none":           strings.Replace(head("Content-Length: 40"), "Host: gateway", "Host: a/b", 1),
		"line break in an id":         strings.Replace(head("Content-Length: 40"), "/c1/", "/c\r\n1/", 1),
		"NUL in a value":              head("A: \x00", "Content-Length: 40"),
		"carriage return in a value":  head("A: b\rc", "Content-Length: 40"),
		"bare line feeds":             strings.ReplaceAll(head("Content-Length: 40"), "\r\n", "\n"),
		"one bare line feed":          strings.Replace(head("Content-Length: 40"), "\r\n", "\n", 1),
		"bare line feeds at the end":  strings.TrimSuffix(head("Content-Length: 40"), "\r\n\r\n") + "\n\n",
		"bare line feed in the blank": strings.TrimSuffix(head("Content-Length: 40"), "\r\n") + "\n",
		"TLS":                         "\x16\x03\x01\x02\x00\x01\x00",
	} {
		t.Run(name, func(t *testing.T) {
			in := bufio.NewReader(w.raw(request))
			if r := w.readResponse(in, "POST").fails(400, codeTransport, "", "malformed"); !r.closes {
				t.Error("the connection is not announced to close")
			}
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}

func TestHeadersThatContradictThemselvesAreRefused(t *testing.T) {
	w := newWorld(t, func(o *options) { o.loopback = true })
	s, other := w.connect("c1"), w.connect("c1")
	twice := func(name, a, b string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = []string{a, b} }
	}
	for _, c := range []struct {
		name, first, second string
	}{
		{"Mcp-Session-Id", s.token, other.token},
		{"Mcp-Session-Id", s.token, ""},
		{"Mcp-Protocol-Version", "2025-06-18", "2025-11-25"},
		{"Mcp-Protocol-Version", "2025-06-18", "nonsense"},
		{"Origin", "http://localhost", "http://evil.example.com"},
		{"Origin", "", "http://evil.example.com"},
	} {
		for _, verb := range []string{"POST", "GET", "DELETE"} {
			r := do(t, newClient(t), s.request(pingBody, twice(c.name, c.first, c.second), method(verb)))
			id := ""
			if verb == "POST" && c.name != "Origin" {
				id = "7"
			}
			r.fails(400, codeTransport, id, "two "+c.name+" headers")
		}
		if c.second == "nonsense" {
			continue
		}
		s.send(pingBody, twice(c.name, c.first, c.first)).is(200, "")
	}
}

// TestRefusalDoesNotSpoilTheConnection has a body that nobody wanted follow a
// refusal late, and then another request.
func TestRefusalDoesNotSpoilTheConnection(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	ping := postHead(s.path, s.token, fmt.Sprintf("Content-Length: %d", len(pingBody))) + pingBody
	length := fmt.Sprintf("Content-Length: %d", smallBody)
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"unknown path": {postHead("/nowhere", "", length), 404},
		"method":       {strings.Replace(postHead(s.path, s.token, length), "POST", "PATCH", 1), 405},
		"DELETE":       {strings.Replace(postHead(s.path, "nonsense", length), "POST", "DELETE", 1), 404},
		"GET":          {strings.Replace(postHead(s.path, "nonsense", length), "POST", "GET", 1), 404},
	} {
		t.Run(name, func(t *testing.T) {
			conn := w.raw(c.head)
			in := bufio.NewReader(conn)
			for range 3 {
				w.readResponse(in, "POST").is(c.status, "")
				write(t, conn, strings.Repeat("x", smallBody)+ping+"\r\n\r\n"+ping+c.head)
				for range 2 {
					w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
				}
			}
		})
	}
}

// TestBodyWithoutASessionIsShort takes no more from a stranger than an
// initialize may need.
func TestBodyWithoutASessionIsShort(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	body := strings.Replace(initializeBody, `"name":"t"`, `"name":"`+strings.Repeat("x", maxUnadmitted)+`"`, 1)
	for name, c := range map[string]struct {
		changes []func(*http.Request)
		status  int
		code    int32
	}{
		"none":    {[]func(*http.Request){with("Mcp-Session-Id", "")}, 400, codeInvalidRequest},
		"unknown": {[]func(*http.Request){with("Mcp-Session-Id", "nonsense")}, 404, codeSessionNotFound},
		"version": {[]func(*http.Request){with("MCP-Protocol-Version", "nonsense")}, 400, codeUnsupportedVersion},
	} {
		for _, length := range []int64{0, -1} {
			t.Run(fmt.Sprint(name, length), func(t *testing.T) {
				framed := func(r *http.Request) {
					if length < 0 {
						r.ContentLength = length
					}
				}
				s.send(body, append(c.changes, framed)...).fails(c.status, c.code, "", "")
			})
		}
	}
	s.send(body).is(200, "")
}

func TestChunkedRequestsFollowEachOther(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	var all strings.Builder
	for range 3 {
		all.WriteString(postHead(s.path, s.token, "Transfer-Encoding: chunked", "Trailer: Mcp-Session-Id"))
		for _, c := range pingBody {
			fmt.Fprintf(&all, "1;x=y\r\n%c\r\n", c)
		}
		all.WriteString("0\r\nMcp-Session-Id: nonsense\r\n\r\n")
	}
	in := bufio.NewReader(w.raw(all.String()))
	for range 3 {
		w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
	}
}

// TestExpectationThatIsNotMet is answered before the body, and not asked for it.
func TestExpectationThatIsNotMet(t *testing.T) {
	w := newWorld(t)
	in := bufio.NewReader(w.raw(postHead("/nowhere", "", "Content-Length: 10", "Expect: 100-continue")))
	if r := w.readResponse(in, "POST").is(404, ""); !r.closes {
		t.Error("the connection is not announced to close")
	}
}

func TestOldHTTP(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	old := func(lines ...string) string {
		return strings.Replace(postHead(s.path, s.token, append(lines, fmt.Sprintf("Content-Length: %d", len(pingBody)))...), "HTTP/1.1", "HTTP/1.0", 1) + pingBody
	}
	in := bufio.NewReader(w.raw(old("Connection: keep-alive") + old()))
	if r := w.readResponse(in, "POST").is(200, ""); r.header.Get("Connection") != "keep-alive" {
		t.Error("the connection is not announced to stay")
	}
	if r := w.readResponse(in, "POST").is(200, ""); !r.closes {
		t.Error("the connection is not announced to close")
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}
}
