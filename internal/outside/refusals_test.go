package outside

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

func TestW8_TheShapeOfThePathComesFirst(t *testing.T) {
	w := begin(t)
	for _, target := range []string{
		"/", "/containers//", "/Containers", "/containers;a", "/containers/containers", "/containers/a/containers", "/containers/", "/containers/a", "/containers/a/", "/containers//requests", "//requests", "/requests/",
		"/Requests", "/requests%20", "/%72equests", "/requests/1", "/requests;a", "/containers/a//requests", "/containers/a/requests/",
		"/x/../requests", "/./requests", "/containers/a/../a/requests", "/containers/a%2frequests", "/containers/a/containers/a/requests",
		"/mcp", "/mcp/", "/mcp/call-tool", "/mcp/call-tool/", "/mcp/call-tools/1", "/mcp/Call-Tool/1", "/mcp//call-tool/1", "/mcp/command/1",
		"/mcp/call-tool/1/", "/mcp/call-tool/1/x", "/mcp/call-tool//1", "//gateway/requests", "/requests#x", "http://gateway", "http://gateway?/requests",
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			got := w.raw(method + " " + target + " HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n")
			if got.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s: %d, wanted 404", method, target, got.StatusCode)
			}
		}
	}
}

func TestA2_TheChannelIsCanonicalDecimal(t *testing.T) {
	w := begin(t, withFirstChannel(1))
	p := w.provider("default")
	w.callTool(toolAsk)
	if ask := p.call(); ask.Channel != 1 {
		t.Fatalf("channel %d", ask.Channel)
	}
	for _, channel := range []string{"01", "+1", "-1", "1.0", "0x1", "1e0", "%31", "1_", "", " 1", "00", "4294967296", "4294967297", "18446744073709551617", "١"} {
		got := w.raw("GET /mcp/call-tool/" + channel + " HTTP/1.1\r\n" + upgradeHeaders + "\r\n")
		if got.StatusCode != http.StatusNotFound && !strings.Contains(channel, " ") {
			t.Errorf("channel %q: %d, wanted 404", channel, got.StatusCode)
		}
	}
	for _, channel := range []string{"0", "4294967295", "2"} {
		if got := wstest.Refused(t, w.addr, "/mcp/call-tool/"+channel); got.Status != http.StatusNotFound {
			t.Errorf("channel %q: %d, wanted 404", channel, got.Status)
		}
	}
	wstest.Dial(t, w.addr, "/mcp/call-tool/1?channel=2").Close(1000)
}

func TestW8_ThenTheMethod(t *testing.T) {
	w := begin(t)
	for _, target := range []string{"/requests", "/containers/a/requests", "/mcp/list-tools/7", "/containers/a/mcp/notifications/7?x", "/containers"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "get"} {
			c := w.plain()
			fmt.Fprintf(c, "%s %s HTTP/1.1\r\n%sContent-Length: 0\r\n\r\n", method, target, upgradeHeaders)
			got, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET" {
				t.Errorf("%s %s: %d with Allow %q, wanted 405", method, target, got.StatusCode, got.Header.Get("Allow"))
			}
		}
	}
}

func TestW8_ThenWhoSendsIt(t *testing.T) {
	for _, c := range []struct {
		loopback bool
		origin   string
		refused  bool
	}{
		{true, "http://evil.example", true},
		{true, "http://gateway.example:14979", true}, // the very Host: a page can rebind its name
		{true, "null", true},
		{true, "http://localhost:3000", false},
		{true, "http://localhost:3000\r\nOrigin: http://evil.example", true},
		{true, "https://app.example.com", false},
		{false, "http://evil.example", true},
		{false, "http://localhost:3000", true},
		{false, "http://gateway.example:14979", false}, // as some libraries for programs send it
		{false, "https://app.example.com", false},
	} {
		w := begin(t, func(s *setup) {
			s.config.Loopback, s.config.AllowOrigin = c.loopback, []string{"https://app.example.com"}
		})
		targets := []string{"/requests", "/mcp/call-tool/1"}
		if c.refused {
			targets = append(targets, "/containers")
		}
		for _, target := range targets {
			got := w.raw("GET " + target + " HTTP/1.1\r\nHost: gateway.example:14979\r\nOrigin: " + c.origin + "\r\n\r\n")
			if refused := got.StatusCode == http.StatusForbidden; refused != c.refused {
				t.Errorf("%s from %s, listener on loopback %t: %d", target, c.origin, c.loopback, got.StatusCode)
			}
		}
	}
}

func TestW8_ThenTheUpgrade(t *testing.T) {
	w := begin(t)
	p := w.provider("default") // /requests would be 409
	for name, options := range map[string][]wstest.Option{
		"no upgrade":    {wstest.Header("Upgrade", ""), wstest.Header("Connection", "")},
		"no connection": {wstest.Header("Connection", "")},
		"other upgrade": {wstest.Header("Upgrade", "h2c")},
		"no key":        {wstest.Header("Sec-WebSocket-Key", "")},
		"short key":     {wstest.Header("Sec-WebSocket-Key", "YWJj")},
		"not base64":    {wstest.Header("Sec-WebSocket-Key", "!!!!!!!!!!!!!!!!!!!!!!==")},
		"no version":    {wstest.Header("Sec-WebSocket-Version", "")},
		"version 8":     {wstest.Header("Sec-WebSocket-Version", "8")},
	} {
		for _, target := range []string{"/requests", "/mcp/call-tool/1"} {
			got := wstest.Refused(t, w.addr, target, options...)
			if got.Status != http.StatusUpgradeRequired {
				t.Errorf("%s: %d, wanted 426", name, got.Status)
			}
			if got.Header.Get("Upgrade") != "websocket" || got.Header.Get("Sec-WebSocket-Version") != "13" {
				t.Errorf("%s: headers %v", name, got.Header)
			}
			oneLineOfText(t, got)
		}
	}
	if got := w.raw("GET /requests HTTP/1.0\r\n" + upgradeHeaders + "\r\n"); got.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("HTTP/1.0: %d, wanted 426", got.StatusCode)
	}
	if n := w.counts.refusals(ReasonUpgrade); n != 17 {
		t.Errorf("%d refusals counted, wanted 17", n)
	}
	p.quiet() // and no claim was tried, so the holder was not probed
}

func TestW8_ThenTheState(t *testing.T) {
	w := begin(t)
	w.provider("default")
	for target, want := range map[string]int{"/requests": 409, "/requests?x=/y#z": 409, "/mcp/call-tool/1": 404, "http://gateway/requests": 409} {
		got := wstest.Refused(t, w.addr, target)
		if got.Status != want {
			t.Errorf("%s: %d, wanted %d", target, got.Status, want)
		}
		oneLineOfText(t, got)
	}
}

func TestARefusedConnectionServesTheNextRequest(t *testing.T) {
	w := begin(t)
	c := w.plain()
	r := bufio.NewReader(c)
	for range 3 {
		fmt.Fprintf(c, "GET /nowhere HTTP/1.1\r\nHost: gateway\r\n\r\n")
		if got := readReply(t, r); got.StatusCode != http.StatusNotFound {
			t.Fatalf("%d", got.StatusCode)
		}
	}
	fmt.Fprintf(c, "GET /requests HTTP/1.1\r\n%s\r\n", upgradeHeaders)
	if got := readReply(t, r); got.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%d", got.StatusCode)
	}
}

func TestABodyIsNeverTaken(t *testing.T) {
	w := begin(t)
	for request, want := range map[string]int{
		"POST /requests HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000000\r\n\r\n":                                            405,
		"POST /nowhere HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000000\r\n\r\n":                                             404,
		"POST /requests HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n":                                  405,
		"POST /requests HTTP/1.1\r\nHost: g\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 9999\r\n\r\n": 405,
		"GET /requests HTTP/1.1\r\n" + upgradeHeaders + "Content-Length: 5\r\n\r\nhello":                                      400,
		"GET /requests HTTP/1.1\r\n" + upgradeHeaders + "Content-Length: 1\r\n\r\nh":                                          400,
		"GET /requests HTTP/1.1\r\n" + upgradeHeaders + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n":           400,
		"GET /containers HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhello":                                               400,
		"POST /containers HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhello":                                              405,
	} {
		if got := w.raw(request); got.StatusCode != want {
			t.Errorf("%q: %d %q, wanted %d", request, got.StatusCode, got.text, want)
		}
	}
	if got := w.raw("GET /requests HTTP/1.1\r\n" + upgradeHeaders + "Content-Length: 0\r\n\r\n"); got.StatusCode != 101 {
		t.Errorf("an empty body: %d", got.StatusCode)
	}
}

func TestMalformedHTTPIsNamed(t *testing.T) {
	w := begin(t)
	for request, want := range map[string]int{
		"hello\r\n\r\n":          400,
		"GET * HTTP/1.1\r\n\r\n": 400,
		"GET /requests\r\n\r\n":  400,
		"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03 tls hello \r\n\r\n":               400,
		"GET /requests HTTP/1.1\r\nHost: g\r\nbad header\r\n\r\n":                       400,
		"GET /requests HTTP/1.1\r\nHost: g\r\nContent-Length: x\r\n\r\n":                400,
		"GET /requests HTTP/1.1\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n": 431,
		"GET /" + strings.Repeat("x", 2*maxHeader) + " HTTP/1.1\r\n\r\n":                431,
	} {
		got := w.raw(request)
		if got.StatusCode != want {
			t.Errorf("%.40q: %d %q, wanted %d", request, got.StatusCode, got.text, want)
		}
		oneLineOfText(t, wstest.Response{Status: got.StatusCode, Header: got.Header, Body: got.text})
	}
	w.provider("default").quiet()
}

func TestAHandshakeThatStallsIsTold(t *testing.T) {
	w := begin(t, withTimeout(20*time.Millisecond))
	c := w.plain()
	if _, err := io.WriteString(c, "GET /requests HTTP/1.1\r\nHost:"); err != nil {
		t.Fatal(err)
	}
	if got := readReply(t, bufio.NewReader(c)); got.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%d", got.StatusCode)
	}
	if w.counts.refusals(ReasonTimeout) != 1 {
		t.Error("not counted")
	}
}

func TestAConnectionThatSaysNothingIsClosedAndCounted(t *testing.T) {
	for _, sent := range []string{"", "\r\n\r\n"} {
		w := begin(t, withTimeout(20*time.Millisecond))
		c := w.plain()
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%q: %v", sent, err)
		}
		if w.counts.refusals(ReasonTimeout) != 1 || w.log.count("reason=timeout") != 1 {
			t.Errorf("%q: counted %d times, log:\n%s", sent, w.counts.refusals(ReasonTimeout), w.log)
		}
	}
}

func TestAConnectionThatWaitsForItsNextRequestIsNotRefused(t *testing.T) {
	w := begin(t, withTimeout(20*time.Millisecond))
	c := w.plain()
	if _, err := io.WriteString(c, nowhere+"\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	if n := w.counts.refusals(ReasonTimeout); n != 0 {
		t.Errorf("%d timeouts counted", n)
	}
}

// TestALogNamesNoTargetThatWasNotRead: a head that is malformed has none.
func TestALogNamesNoTargetThatWasNotRead(t *testing.T) {
	w := begin(t)
	w.raw("GET /requests HTTP/1.1\r\nno colon\r\n\r\n")
	w.raw(nowhere + "\r\n")
	if log := w.log.String(); w.log.count("msg=refused") != 2 || w.log.count("what=") != 1 || !strings.Contains(log, "what=/nowhere") {
		t.Errorf("log:\n%s", log)
	}
}

func TestARefusalReachesAPeerInTheMiddleOfItsBody(t *testing.T) {
	w := begin(t)
	for range 20 {
		c := w.plain()
		fmt.Fprintf(c, "POST /requests HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n%s", strings.Repeat("x", 200_000))
		if got := readReply(t, bufio.NewReader(c)); got.StatusCode != http.StatusMethodNotAllowed || !got.Close {
			t.Fatalf("%d, close %t", got.StatusCode, got.Close)
		}
		_ = c.Close()
	}
}

// A connection that is closed with bytes unread is reset, which can eat the refusal.
func TestARefusalEndsInOrder(t *testing.T) {
	w := begin(t)
	w.provider("default")
	sent := strings.Repeat("x", 1<<20)
	for _, head := range []string{
		"GET /requests HTTP/1.1\r\n" + upgradeHeaders + "\r\n",
		"GET /mcp/call-tool/1 HTTP/1.1\r\n" + upgradeHeaders + "\r\n",
		"POST /requests HTTP/1.1\r\nHost: g\r\nContent-Length: 1048576\r\n\r\n",
	} {
		c := w.plain()
		if _, err := io.WriteString(c, head+sent); err != nil {
			t.Fatalf("%.20s: %v", head, err)
		}
		r := bufio.NewReader(c)
		readReply(t, r)
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%.20s: %v, wanted the end of the stream", head, err)
		}
		_ = c.Close()
	}
}

func TestEveryReasonHasARefusal(t *testing.T) {
	for _, r := range Reasons()[:len(refusals)] {
		if refusalFor(Reason(r)).text == "" {
			t.Errorf("%s says nothing", r)
		}
	}
}
