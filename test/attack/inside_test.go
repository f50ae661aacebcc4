package attack

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// badRequests are requests to a container's MCP endpoint.
func badRequests(c *container) []bad {
	length := fmt.Sprintf("Content-Length: %d", len(ping))
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(ping), ping)
	inChunks := func(body string) string { return c.head("Transfer-Encoding: chunked") + body }
	instead := func(old, new string) string { return strings.Replace(c.post(ping), old, new, 1) }
	return []bad{
		// What two parties may read differently.
		{400, strings.ReplaceAll(c.post(ping), "\r\n", "\n")},
		{400, c.head(length, "A: b\r\n c") + ping},
		{400, c.head("Content-Length:\r\n 40") + ping},
		{400, c.head(length, "Mcp-Session-Id: x", " y") + ping},
		{400, c.head(length, "A b: c") + ping},
		{400, c.head(length, "A : c") + ping},
		{400, c.head(length, "A: \x00") + ping},
		{400, c.head(length, "A: b\rc") + ping},
		{400, c.head(length, length) + ping},
		{400, c.head("Content-Length: 0", length) + ping},
		{400, c.head("Content-Length: +40") + ping},
		{400, c.head("Content-Length: 40, 40") + ping},
		{400, c.head("Content-Length: 0x28") + ping},
		{400, c.head(length, "Transfer-Encoding: chunked") + chunk + "0\r\n\r\n"},
		{400, c.head("Transfer-Encoding: chunked", length) + chunk + "0\r\n\r\n"},
		{400, c.head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + chunk + "0\r\n\r\n"},
		{400, c.head("Transfer-Encoding: gzip, chunked") + chunk + "0\r\n\r\n"},
		{400, c.head("Transfer-Encoding: identity", length) + ping},
		{400, c.head("Transfer Encoding: chunked", length) + ping},
		{400, c.head("Transfer-Encoding : chunked", length) + ping},
		{400, strings.Replace(inChunks(chunk+"0\r\n\r\n"), "HTTP/1.1", "HTTP/1.0", 1)},
		{400, instead("HTTP/1.1", "HTTP/2.0")},
		{400, instead("HTTP/1.1", "HTTP/1.2")},
		{400, instead("Host: gateway\r\n", "")},
		{400, instead("Host: gateway", "Host: a/b")},
		{400, instead("Host: gateway", "Host: gateway\r\nHost: other")},
		{400, instead("/bystander/", "/bystander\r\n/")},
		{400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{400, "\x16\x03\x01\x02\x00\x01\x00"},
		{431, c.head(length, strings.TrimSuffix(strings.Repeat("A:\r\n", 1000), "\r\n")) + ping},
		{431, c.head(length, "A: "+strings.Repeat("b", 1<<16)) + ping},
		// Chunks.
		{400, inChunks("x\r\n")},
		{400, inChunks("+1\r\n{\r\n0\r\n\r\n")},
		{400, inChunks("0x1\r\n{\r\n0\r\n\r\n")},
		{400, inChunks("1 \r\n{\r\n0\r\n\r\n")},
		{400, inChunks(strings.ReplaceAll(chunk, "\r\n", "\n") + "0\n\n")},
		{400, inChunks("1;x\ny\r\n{\r\n0\r\n\r\n")},
		{400, inChunks("1;x\ry\r\n{\r\n0\r\n\r\n")},
		{400, inChunks("1\r\n{}\r\n0\r\n\r\n")},
		{400, inChunks("ffffffffffffffff\r\n")},
		{413, inChunks("fffffffffffffff\r\n")},
		{400, inChunks("1;" + strings.Repeat("x", 1<<20))},
		{400, inChunks(strings.Repeat("1;"+strings.Repeat("x", 4000)+"\r\n{\r\n", 3))},
		{400, inChunks(chunk + "0\r\n" + strings.Repeat("A: b\r\n", 10000) + "\r\n")},
		{400, inChunks(chunk + "0\r\nA: b\n\r\n")},
		{400, inChunks(chunk + "0\r\nA: b\r\n c\r\n\r\n")},
		{400, inChunks(chunk + "0\r\nA b: c\r\n\r\n")},
		{400, inChunks(chunk + "0\n\n")},
		// Targets.
		{404, instead("/mcp ", "/mcp#x ")},
		{404, instead("/mcp ", "/mcp/../mcp ")},
		{404, instead("/mcp ", "//mcp ")},
		{404, instead("/bystander/", "/%62ystander/")},
		{404, instead("/bystander/", "/x/../bystander/")},
		{404, instead("/bystander/", "/../")},
		{404, instead("/bystander/", "/a%2fb/")},
		{404, instead("/bystander/", "/"+strings.Repeat("a", 129)+"/")},
		// Others' sessions, and none.
		{404, instead("/bystander/", "/other/")},
		{404, instead("/containers/bystander/", "/")},
		{404, instead("Session-Id: ", "Session-Id: x")},
		{404, instead("Session-Id: ", "Session-Id: "+strings.Repeat("\xff", 100)+"\r\nX: ")},
		{400, instead("Session-Id: ", "Session-Id: x\r\nMcp-Session-Id: ")},
		{400, instead("Mcp-Session-Id: ", "X: ")},
		// Origins, media, methods.
		{403, c.head(length, "Origin: http://evil.example") + ping},
		{403, c.head(length, "Origin: null") + ping},
		{403, c.head(length, "Origin: http://localhost@evil.example") + ping},
		{400, c.head(length, "Origin: http://localhost", "Origin: http://evil.example") + ping},
		{415, instead("application/json\r\n", "text/plain\r\n")},
		{415, c.head(length, "Content-Encoding: gzip") + ping},
		{406, instead("text/event-stream", "text/html")},
		{405, instead("POST", "PUT")},
		{405, instead("POST", "CONNECT")},
		{405, instead("POST", "TRACE")},
		// Bodies.
		{413, c.head("Content-Length: 99999999999")},
		{400, c.post(strings.Repeat("[", 100_000))},
		{400, c.post(strings.Repeat(`{"a":`, 100_000))},
		{400, c.post(`{"jsonrpc":"2.0","id":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `,"method":"ping"}`)},
		{400, c.post("{\"jsonrpc\":\"2.0\",\"id\":\"a\r\nb\",\"method\":\"ping\"}")},
		{400, c.post("{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}")},
		{400, c.post(`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`)},
		{400, c.post(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)},
		{400, c.post(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`)},
		{400, c.post(`[]`)},
		{400, c.post("[" + strings.Repeat(ping+",", 200) + ping + "]")},
		{400, c.post("\xef\xbb\xbf" + ping)},
		{400, c.post(ping + "\x00")},
	}
}

func TestABadRequestIsRefusedCountedAndLogged(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := &container{w: w, id: "bystander"}
		conn := w.dial(w.inside)
		c.session = w.speak(conn, http.MethodPost, c.post(initialize)).header.Get("Mcp-Session-Id")
		_ = conn.Close()
		for _, b := range badRequests(c) {
			for _, ahead := range []string{"", c.post(ping)} {
				tried.Add(1)
				refused, logged := w.refusals("inside"), w.log.count("msg=refused")
				conn := w.dial(w.inside)
				in := bufio.NewReader(conn)
				// What is refused before its end may be reset while it is being sent.
				_, _ = conn.Write([]byte(ahead + b.request))
				if ahead != "" {
					if got := w.read(in, http.MethodPost, ahead); got.status != http.StatusOK {
						t.Fatalf("a ping: %d %s", got.status, got.body)
					}
				}
				got := w.read(in, http.MethodPost, b.request)
				_ = conn.Close()
				if got.status != b.status || strings.Count(got.body, "\n") != 0 || !strings.Contains(got.body, `"error":{`) {
					t.Errorf("%.300q: %d %q, wanted %d and an error", b.request, got.status, got.body, b.status)
				}
				w.tellsNothing(b.request, got.body)
				if n := w.refusals("inside") - refused; n != 1 {
					t.Errorf("%.300q: %d refusals counted", b.request, n)
				}
				if n := w.log.count("msg=refused") - logged; n != 1 {
					t.Errorf("%.300q: %d lines logged", b.request, n)
				}
			}
		}
	})
}

// TestAnIDIsGivenBackAsItCame has ids that would be another header, line or event
// if they were not kept as the JSON they are.
func TestAnIDIsGivenBackAsItCame(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		c := w.container("ids")
		defer c.leave()
		for _, id := range []string{`"a\r\nSet-Cookie: x"`, `"\u000d\u000adata: x\u000a\u000a"`, `"\u0000"`, `"\ud800"`, `"</script>"`, `"\u2028"`, `9007199254740993`, `"` + strings.Repeat("a", 60_000) + `"`} {
			tried.Add(1)
			conn := w.dial(w.inside)
			got := w.speak(conn, http.MethodPost, c.post(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`))
			_ = conn.Close()
			if got.status != http.StatusOK || got.body != `{"jsonrpc":"2.0","id":`+id+`,"result":{}}` || len(got.header["Set-Cookie"]) != 0 {
				t.Errorf("%.100s: %d %.200q", id, got.status, got.body)
			}
		}
	})
}
