package attack

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

const upgrade = "Host: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// bad is a request that must be refused with this status.
type bad struct {
	status  int
	request string
}

func get(target string) string { return "GET " + target + " HTTP/1.1\r\n" }

// badHandshakes are requests to the outside listener.
var badHandshakes = []bad{
	// Lines.
	{400, strings.ReplaceAll(get("/requests")+upgrade+"\r\n", "\r\n", "\n")},
	{400, get("/requests") + strings.TrimSuffix(upgrade, "\r\n") + "\n\r\n"},
	{400, get("/requests") + upgrade + "\n"},
	{400, get("/requests") + upgrade + "A: b\r\n c\r\n\r\n"},
	{400, get("/requests") + upgrade + "A: b\r\n\tc\r\n\r\n"},
	{400, get("/requests") + " A: b\r\n" + upgrade + "\r\n"},
	{400, get("/requests") + "Transfer-Encoding:\r\n chunked\r\n" + upgrade + "\r\n"},
	{400, get("/requests") + upgrade + "A: b\rc\r\n\r\n"},
	{400, get("/requests") + upgrade + "A: b\r\r\n\r\n"},
	{400, get("/requests") + upgrade + "A: \x00\r\n\r\n"},
	{400, get("/requests") + upgrade + "A: \x7f\r\n\r\n"},
	{400, get("/requests") + upgrade + "A b: c\r\n\r\n"},
	{400, get("/requests") + upgrade + "A : c\r\n\r\n"},
	{400, get("/requests") + upgrade + "A(: c\r\n\r\n"},
	{400, get("/requests") + upgrade + "\xc3\xa4: c\r\n\r\n"},
	{400, get("/requests") + upgrade + ": c\r\n\r\n"},
	{400, get("/requests") + upgrade + "no colon\r\n\r\n"},
	{431, get("/requests") + upgrade + "A: " + strings.Repeat("b", 8<<10) + "\r\n\r\n"},
	{431, get("/requests") + upgrade + strings.Repeat("A:\r\n", 1000) + "\r\n"},
	{431, get("/requests") + upgrade + "A: " + strings.Repeat("b", 1<<20)},
	{431, get("/" + strings.Repeat("x", 9000))},
	// Bodies.
	{400, get("/requests") + upgrade + "Content-Length: 5\r\n\r\nhello"},
	{400, get("/requests") + upgrade + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"},
	{400, get("/requests") + upgrade + "Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello"},
	{400, get("/requests") + upgrade + "Content-Length: 0, 0\r\n\r\n"},
	{400, get("/requests") + upgrade + "Content-Length: +0\r\n\r\n"},
	{400, get("/requests") + upgrade + "Content-Length: -1\r\n\r\n"},
	{400, get("/requests") + upgrade + "Content-Length: 0x0\r\n\r\n"},
	{400, get("/requests") + upgrade + "Content-Length: 18446744073709551616\r\n\r\n"},
	{400, get("/requests") + upgrade + "Content-Length:\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n"},
	{400, get("/requests") + upgrade + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer-Encoding: gzip, chunked\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer-Encoding: identity\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer-Encoding: \x0bchunked\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer-Encoding : chunked\r\n\r\n"},
	{400, get("/requests") + upgrade + "Transfer Encoding: chunked\r\n\r\n"},
	{400, get("/containers") + "Host: g\r\nContent-Length: 5\r\n\r\nhello"},
	{405, "POST /requests HTTP/1.1\r\n" + upgrade + "Content-Length: 1000000\r\n\r\n"},
	// Request lines.
	{400, "GET /requests\r\n\r\n"},
	{400, "GET\t/requests\tHTTP/1.1\r\n" + upgrade + "\r\n"},
	{400, "GET  /requests HTTP/1.1\r\n" + upgrade + "\r\n"},
	{400, "GET /requests  HTTP/1.1\r\n" + upgrade + "\r\n"},
	{400, "GET /requests HTTP/1.1 \r\n" + upgrade + "\r\n"},
	{400, " GET /requests HTTP/1.1\r\n" + upgrade + "\r\n"},
	{400, "G{T /requests HTTP/1.1\r\n" + upgrade + "\r\n"},
	{405, "get /requests HTTP/1.1\r\n" + upgrade + "\r\n"},
	{405, "CONNECT /requests HTTP/1.1\r\n" + upgrade + "\r\n"},
	{426, "GET /requests HTTP/1.0\r\n" + upgrade + "\r\n"},
	{400, "GET /requests HTTP/1.0\r\nTransfer-Encoding: chunked\r\n" + upgrade + "\r\n"},
	{400, "GET /containers HTTP/0.9\r\n" + upgrade + "\r\n"},
	{400, "GET /containers HTTP/1.2\r\n" + upgrade + "\r\n"},
	{400, "GET /containers HTTP/2.0\r\n" + upgrade + "\r\n"},
	{400, "GET /containers http/1.1\r\n" + upgrade + "\r\n"},
	{400, "GET /containers HTTP/1.10\r\n" + upgrade + "\r\n"},
	{400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{400, "GET * HTTP/1.1\r\n" + upgrade + "\r\n"},
	{404, "OPTIONS * HTTP/1.1\r\n" + upgrade + "\r\n"},
	{404, "CONNECT g:80 HTTP/1.1\r\n" + upgrade + "\r\n"},
	{400, "GET g:80 HTTP/1.1\r\n" + upgrade + "\r\n"},
	{400, "GET ://g/requests HTTP/1.1\r\n" + upgrade + "\r\n"},
	{400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
	{400, "\x00\x00\x00\x00"},
	{400, "\x80\x9e\x01\x03\x01"},
	{400, "SSH-2.0-x\r\n"},
	// Targets.
	{404, get("/requests#x") + upgrade + "\r\n"},
	{404, get("/x/../requests") + upgrade + "\r\n"},
	{404, get("/./requests") + upgrade + "\r\n"},
	{404, get("/%72equests") + upgrade + "\r\n"},
	{404, get("//requests") + upgrade + "\r\n"},
	{404, get("//g/requests") + upgrade + "\r\n"},
	{404, get("/requests;x") + upgrade + "\r\n"},
	{404, get("http://g/requests/") + upgrade + "\r\n"},
	{404, get("http://g") + upgrade + "\r\n"},
	{404, get("/containers/a%2frequests") + upgrade + "\r\n"},
	{404, get("/containers/a%0d%0ab/requests") + upgrade + "\r\n"},
	{404, get("/containers/../requests") + upgrade + "\r\n"},
	{404, get("/containers/.a/requests") + upgrade + "\r\n"},
	{404, get("/containers/a/../b/requests") + upgrade + "\r\n"},
	{404, get("/containers//requests") + upgrade + "\r\n"},
	{404, get("/containers/a\\b/requests") + upgrade + "\r\n"},
	{404, get("/containers/a*/requests") + upgrade + "\r\n"},
	{404, get("/containers/\xc3\xa4/requests") + upgrade + "\r\n"},
	{404, get("/containers/"+strings.Repeat("a", 129)+"/requests") + upgrade + "\r\n"},
	{404, get("/mcp/call-tool/1%00") + upgrade + "\r\n"},
	{404, get("/mcp/call-tool/-1") + upgrade + "\r\n"},
	{404, get("/mcp/call-tool/4294967296") + upgrade + "\r\n"},
	{400, get("/requests\x00") + upgrade + "\r\n"},
	{400, get("/containers/a\r\nb/requests") + upgrade + "\r\n"},
	// Host and Origin.
	{400, get("/requests") + strings.Replace(upgrade, "Host: g\r\n", "", 1) + "\r\n"},
	{400, get("/requests") + strings.Replace(upgrade, "Host: g", "Host:", 1) + "\r\n"},
	{400, get("/requests") + strings.Replace(upgrade, "Host: g", "Host: g/h", 1) + "\r\n"},
	{400, get("/requests") + strings.Replace(upgrade, "Host: g", "Host: g h", 1) + "\r\n"},
	{400, get("/requests") + "Host: h\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://evil.example\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://g\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: null\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin:\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://localhost@evil.example\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://localhost.evil.example\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://127.0.0.1.evil.example\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://localhost:80:evil\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://localhost, http://evil.example\r\n" + upgrade + "\r\n"},
	{403, get("/requests") + "Origin: http://localhost\r\nORIGIN: http://evil.example\r\n" + upgrade + "\r\n"},
	{403, get("/containers") + "Host: g\r\nOrigin: http://evil.example\r\n\r\n"},
	// Upgrades.
	{426, get("/requests") + "Host: g\r\n\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "websocket", "h2c", 1) + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "websocket", "web socket", 1) + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "n: Upgrade", "n: keep-alive", 1) + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "13", "8", 1) + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "13", "13, 8", 1) + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "13", "013", 1) + "\r\n"},
	{426, get("/requests") + "Sec-WebSocket-Version: 13\r\n" + upgrade + "\r\n"},
	{426, get("/requests") + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + upgrade + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "dGhl", "", 1) + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "dGhl", "!!!!", 1) + "\r\n"},
	{426, get("/requests") + strings.Replace(upgrade, "ZQ==", "ZWFt", 1) + "\r\n"},
}

// TestABadHandshakeIsRefusedCountedAndLogged sends each on a connection of its own,
// and once more behind a good request.
func TestABadHandshakeIsRefusedCountedAndLogged(t *testing.T) {
	w := begin(t)
	w.survives(func() {
		for _, b := range badHandshakes {
			for _, ahead := range []string{"", "OPTIONS / HTTP/1.1\r\nHost: g\r\n\r\n"} {
				tried.Add(1)
				refused, logged := w.refusals("outside"), w.log.count("msg=refused")
				conn := w.dial(w.outside)
				in := bufio.NewReader(conn)
				if _, err := conn.Write([]byte(ahead + b.request)); err != nil {
					t.Fatal(err)
				}
				more := 1
				if ahead != "" {
					more = 2
					w.read(in, http.MethodOptions, ahead)
				}
				method, _, _ := strings.Cut(b.request, " ")
				got := w.read(in, method, b.request)
				_ = conn.Close()
				if got.status != b.status || strings.Count(got.body, "\n") != 1 || !strings.HasSuffix(got.body, "\n") || len(got.body) < 10 {
					t.Errorf("%.200q: %d %q, wanted %d and a line", b.request, got.status, got.body, b.status)
				}
				if got.status == http.StatusBadRequest && !got.closes {
					t.Errorf("%.200q: the connection goes on", b.request)
				}
				w.tellsNothing(b.request, got.body)
				if n := w.refusals("outside") - refused; n != more {
					t.Errorf("%.200q: %d refusals counted", b.request, n-more+1)
				}
				if n := w.log.count("msg=refused") - logged; n != more {
					t.Errorf("%.200q: %d lines logged", b.request, n-more+1)
				}
			}
		}
	})
}
