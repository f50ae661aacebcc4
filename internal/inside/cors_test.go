package inside

import (
	"net/http"
	"strings"
	"testing"
)

const page = "https://app.example.com"

func fromPage(o *options) { o.origins = []string{page} }

// asks is the OPTIONS with which a browser asks whether a page may send headers.
func asks(w *world, origin, headers string) *http.Request {
	return w.post("/containers/c1/mcp", "", method(http.MethodOptions), with("Content-Type", ""), with("Accept", "*/*"),
		with("Origin", origin), with("Access-Control-Request-Method", "POST"), with("Access-Control-Request-Headers", headers))
}

// grants reports whether a list in a header holds a name.
func grants(h http.Header, list, name string) bool {
	for item := range strings.SplitSeq(h.Get(list), ",") {
		if strings.EqualFold(strings.TrimSpace(item), name) {
			return true
		}
	}
	return false
}

func TestPagesOfAnAllowedOriginMaySendWhatMCPNeeds(t *testing.T) {
	w := newWorld(t, fromPage)
	names := []string{"content-type", "accept", "authorization", "mcp-protocol-version", "mcp-session-id", "last-event-id",
		"mcp-method", "mcp-name", "mcp-param-city", "Mcp-Param-Zip-Code"}
	r := do(t, newClient(t), asks(w, page, strings.Join(names, ","))).is(204, "")
	if got := r.header.Get("Access-Control-Allow-Origin"); got != page {
		t.Errorf("Access-Control-Allow-Origin is %q", got)
	}
	for _, name := range names {
		if !grants(r.header, "Access-Control-Allow-Headers", name) {
			t.Errorf("%s may not be sent: %q", name, r.header.Get("Access-Control-Allow-Headers"))
		}
	}
	for _, name := range []string{"GET", "POST", "DELETE"} {
		if !grants(r.header, "Access-Control-Allow-Methods", name) {
			t.Errorf("%s may not be used: %q", name, r.header.Get("Access-Control-Allow-Methods"))
		}
	}
	if !grants(r.header, "Vary", "Origin") || r.header.Get("Access-Control-Max-Age") == "" {
		t.Errorf("Vary is %q, Access-Control-Max-Age %q", r.header.Get("Vary"), r.header.Get("Access-Control-Max-Age"))
	}
}

func TestPagesAreGrantedNoHeadersBesideThoseOfMCP(t *testing.T) {
	w := newWorld(t, fromPage)
	r := do(t, newClient(t), asks(w, page, "cookie, x-mcp-param-a, mcp-param-, mcp-param-a b, mcp-param-ok")).is(204, "")
	for _, name := range []string{"cookie", "x-mcp-param-a", "mcp-param-", "mcp-param-a b"} {
		if grants(r.header, "Access-Control-Allow-Headers", name) {
			t.Errorf("%s may be sent", name)
		}
	}
	if !grants(r.header, "Access-Control-Allow-Headers", "mcp-param-ok") {
		t.Errorf("mcp-param-ok may not be sent: %q", r.header.Get("Access-Control-Allow-Headers"))
	}
}

func TestOptionsWithoutAPageSaysWhatThereIs(t *testing.T) {
	w := newWorld(t, fromPage)
	r := do(t, newClient(t), asks(w, "", "")).is(204, "")
	if r.header.Get("Allow") != allowedMethods || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Fatalf("got %v", r.header)
	}
}

func TestPagesMayReadTheirResponses(t *testing.T) {
	w := newWorld(t, fromPage)
	shared := func(what string, h http.Header) {
		t.Helper()
		if h.Get("Access-Control-Allow-Origin") != page || !grants(h, "Access-Control-Expose-Headers", "Mcp-Session-Id") || !grants(h, "Vary", "Origin") {
			t.Errorf("%s is kept from its page: %v", what, h)
		}
	}
	from := with("Origin", page)
	begun := do(t, newClient(t), w.post("/mcp", initializeBody, from)).is(200, "")
	shared("a result", begun.header)
	shared("a refusal", do(t, newClient(t), w.post("/mcp", pingBody, from)).is(400, "").header)
	shared("a refusal by the head", do(t, newClient(t), w.post("/mcp", pingBody, from, with("Content-Type", "text/plain"))).is(415, "").header)

	listen, err := newClient(t).Do(w.post("/mcp", "", method(http.MethodGet), from, with("Mcp-Session-Id", begun.header.Get("Mcp-Session-Id"))))
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Body.Close()
	shared("an event stream", listen.Header)
}

func TestForeignPagesAreToldNothing(t *testing.T) {
	w := newWorld(t, fromPage)
	for _, r := range []*http.Request{
		asks(w, "https://evil.example.com", "content-type"),
		w.post("/mcp", initializeBody, with("Origin", "https://evil.example.com")),
	} {
		got := do(t, newClient(t), r).is(403, "")
		for name := range got.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %q", name, got.header[name])
			}
		}
	}
}

func TestTwoOriginsAreNone(t *testing.T) {
	w := newWorld(t, fromPage)
	r := do(t, newClient(t), w.post("/mcp", initializeBody, with("Origin", page), func(r *http.Request) {
		r.Header.Add("Origin", "https://evil.example.com")
	})).is(400, "")
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("the refusal is shared with %q", got)
	}
}

func TestLoopbackPagesAreAllowedOnLoopback(t *testing.T) {
	w := newWorld(t, func(o *options) { o.loopback = true })
	for _, origin := range []string{"http://localhost:6274", "http://127.0.0.1", "http://[::1]:80"} {
		r := do(t, newClient(t), w.post("/mcp", initializeBody, with("Origin", origin))).is(200, "")
		if got := r.header.Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("%s: Access-Control-Allow-Origin is %q", origin, got)
		}
	}
}

func TestHeadersOfPagesCostTheOthersNothing(t *testing.T) {
	w := newWorld(t, fromPage)
	r := do(t, newClient(t), w.post("/mcp", initializeBody)).is(200, "")
	if r.header.Get("Vary") != "" || r.header.Get("Access-Control-Expose-Headers") != "" {
		t.Fatalf("got %v", r.header)
	}
}
