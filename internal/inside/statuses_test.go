package inside

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const pingBody = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// TestRefusals goes through what can be said of a request before its body.
func TestRefusals(t *testing.T) {
	w := newWorld(t, func(o *options) { o.origins = []string{"https://app.example.com"} })
	s := w.connect("c1")
	session := with("Mcp-Session-Id", s.token)
	for _, c := range []struct {
		name    string
		path    string
		changes []func(*http.Request)
		status  int
		reason  Reason
	}{
		{"unknown path", "/", nil, 404, ReasonUnknownPath},
		{"path below the endpoint", "/containers/c1/mcp/x", nil, 404, ReasonUnknownPath},
		{"two trailing slashes", "/mcp//", nil, 404, ReasonUnknownPath},
		{"escaped path", "/containers/c1/%6dcp", nil, 404, ReasonUnknownPath},
		{"slash in the id", "/containers/a/b/mcp", nil, 404, ReasonUnknownPath},
		{"escaped id", "/containers/c%31/mcp", nil, 404, ReasonBadContainer},
		{"empty id", "/containers//mcp", nil, 404, ReasonBadContainer},
		{"id with a leading dot", "/containers/.c1/mcp", nil, 404, ReasonBadContainer},
		{"id too long", "/containers/" + strings.Repeat("a", 129) + "/mcp", nil, 404, ReasonBadContainer},
		{"origin", "/containers/c1/mcp", []func(*http.Request){with("Origin", "https://evil.example.com")}, 403, ReasonOrigin},
		{"loopback origin, not allowed", "/containers/c1/mcp", []func(*http.Request){with("Origin", "http://localhost:1")}, 403, ReasonOrigin},
		{"PUT", "/containers/c1/mcp", []func(*http.Request){method("PUT")}, 405, ReasonMethod},
		{"OPTIONS of a foreign page", "/containers/c1/mcp", []func(*http.Request){method("OPTIONS"), with("Origin", "https://evil.example.com")}, 403, ReasonOrigin},
		{"OPTIONS of an unknown path", "/containers", []func(*http.Request){method("OPTIONS")}, 404, ReasonUnknownPath},
		{"no content type", "/containers/c1/mcp", []func(*http.Request){with("Content-Type", "")}, 415, ReasonContentType},
		{"other content type", "/containers/c1/mcp", []func(*http.Request){with("Content-Type", "text/plain")}, 415, ReasonContentType},
		{"form", "/containers/c1/mcp", []func(*http.Request){with("Content-Type", "multipart/form-data; boundary=x")}, 415, ReasonContentType},
		{"gzip", "/containers/c1/mcp", []func(*http.Request){with("Content-Encoding", "gzip")}, 415, ReasonContentEncoding},
		{"no accept", "/containers/c1/mcp", []func(*http.Request){with("Accept", "")}, 406, ReasonAccept},
		{"accept without streams", "/containers/c1/mcp", []func(*http.Request){with("Accept", "application/json")}, 406, ReasonAccept},
		{"accept without JSON", "/containers/c1/mcp", []func(*http.Request){with("Accept", "text/event-stream")}, 406, ReasonAccept},
		{"accept that refuses JSON", "/containers/c1/mcp", []func(*http.Request){with("Accept", "application/json;q=0, text/event-stream")}, 406, ReasonAccept},
		{"GET without accept", "/containers/c1/mcp", []func(*http.Request){method("GET"), with("Accept", "application/json")}, 406, ReasonAccept},
		{"unknown revision", "/containers/c1/mcp", []func(*http.Request){session, with("MCP-Protocol-Version", "1999-01-01")}, 400, ReasonRevision},
		{"no session", "/containers/c1/mcp", nil, 400, ReasonNoSession},
		{"unknown session", "/containers/c1/mcp", []func(*http.Request){with("Mcp-Session-Id", "nonsense")}, 404, ReasonUnknownSession},
		{"GET without session", "/containers/c1/mcp", []func(*http.Request){method("GET")}, 400, ReasonNoSession},
		{"GET of an unknown session", "/containers/c1/mcp", []func(*http.Request){method("GET"), with("Mcp-Session-Id", "nonsense")}, 404, ReasonUnknownSession},
		{"GET with an unknown revision", "/containers/c1/mcp", []func(*http.Request){method("GET"), session, with("MCP-Protocol-Version", "x")}, 400, ReasonRevision},
		{"DELETE without session", "/containers/c1/mcp", []func(*http.Request){method("DELETE")}, 400, ReasonNoSession},
		{"DELETE of an unknown session", "/containers/c1/mcp", []func(*http.Request){method("DELETE"), with("Mcp-Session-Id", "nonsense")}, 404, ReasonUnknownSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			counter := "refused inside " + string(c.reason)
			before := w.observed.of(counter)
			r := do(t, newClient(t), w.post(c.path, pingBody, c.changes...))
			want := refusalFor(c.reason)
			id := ""
			if c.name == "unknown revision" || c.name == "no session" {
				id = "7"
			}
			r.fails(c.status, want.code, id, "")
			if r.header.Get("Content-Type") != "application/json" {
				t.Errorf("the refusal's type is %q", r.header.Get("Content-Type"))
			}
			if got := r.header.Get("Allow"); (got != "") != (c.status == 405) || got != "" && got != allowedMethods {
				t.Errorf("Allow is %q", got)
			}
			if got := w.observed.of(counter) - before; got != 1 {
				t.Errorf("%q was counted %d times", counter, got)
			}
		})
	}
}

func TestRefusedHEADHasNoBody(t *testing.T) {
	w := newWorld(t)
	do(t, newClient(t), w.post("/mcp", "", method("HEAD"))).is(405, "")
}

// TestUnknownSessionIsAnsweredWithoutID keeps to the exact body: by an error
// with the request's id clients would never see that the session is lost.
func TestUnknownSessionIsAnsweredWithoutID(t *testing.T) {
	w := newWorld(t)
	do(t, newClient(t), w.post("/mcp", pingBody, with("Mcp-Session-Id", "nonsense"))).
		is(404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found: send initialize again, without Mcp-Session-Id"}}`)
}

func TestAcceptedForms(t *testing.T) {
	w := newWorld(t, func(o *options) { o.origins = []string{"https://app.example.com"}; o.loopback = true })
	s := w.connect("default")
	for _, c := range []struct {
		name    string
		path    string
		changes []func(*http.Request)
	}{
		{"as is", "/mcp", nil},
		{"trailing slash", "/mcp/", nil},
		{"query", "/mcp?token=1&x=/y", nil},
		{"prefixed", "/containers/default/mcp", nil},
		{"prefixed with trailing slash", "/containers/default/mcp/", nil},
		{"charset", "/mcp", []func(*http.Request){with("Content-Type", "Application/JSON; charset=utf-8")}},
		{"accept anything", "/mcp", []func(*http.Request){with("Accept", "*/*")}},
		{"accept ranges", "/mcp", []func(*http.Request){with("Accept", "text/*;q=0.5, application/*")}},
		{"accept in two lines", "/mcp", []func(*http.Request){with("Accept", "text/event-stream"), func(r *http.Request) { r.Header.Add("Accept", "application/json") }}},
		{"allowed origin", "/mcp", []func(*http.Request){with("Origin", "https://APP.example.com")}},
		{"loopback origin", "/mcp", []func(*http.Request){with("Origin", "http://127.0.0.1:5173")}},
		{"localhost", "/mcp", []func(*http.Request){with("Origin", "https://localhost")}},
		{"IPv6 loopback", "/mcp", []func(*http.Request){with("Origin", "http://[::1]:80")}},
		{"another revision than negotiated", "/mcp", []func(*http.Request){with("MCP-Protocol-Version", "2025-03-26")}},
		{"oldest revision", "/mcp", []func(*http.Request){with("MCP-Protocol-Version", "2024-11-05")}},
		{"identity coding", "/mcp", []func(*http.Request){with("Content-Encoding", "identity")}},
		{"chunked", "/mcp", []func(*http.Request){func(r *http.Request) { r.ContentLength = -1 }}},
		{"expecting 100", "/mcp", []func(*http.Request){with("Expect", "100-continue")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := w.post(c.path, pingBody, append(c.changes, with("Mcp-Session-Id", s.token))...)
			do(t, newClient(t), r).is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
		})
	}
}

// TestAbsoluteForm is the request target as a proxy sends it.
func TestAbsoluteForm(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	head := strings.Replace(postHead("/containers/c1/mcp", s.token, fmt.Sprintf("Content-Length: %d", len(pingBody))),
		"POST /", "POST http://gateway/", 1)
	conn := w.raw(head + pingBody)
	w.readResponse(bufio.NewReader(conn), "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
}

// TestBodiesThatAreNoMessage goes through what can be wrong with a body.
func TestBodiesThatAreNoMessage(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	for _, c := range []struct {
		body string
		code int32
		id   string
	}{
		{``, -32700, ""},
		{`{`, -32700, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}x`, -32700, ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}", -32700, ""},
		{strings.Repeat("[", 20_000), -32700, ""},
		{`1`, -32600, ""},
		{`{}`, -32600, ""},
		{`[]`, -32600, ""},
		{`[` + pingBody + `]`, -32600, ""},
		{`[` + initializeBody + `]`, -32600, ""},
		{`{"jsonrpc":"1.0","id":3,"method":"ping"}`, -32600, "3"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":"x","method":1}`, -32600, `"x"`},
		{`{"jsonrpc":"2.0","id":"x","method":"ping","params":1}`, -32600, `"x"`},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, -32600, ""},
	} {
		s.send(c.body).fails(400, c.code, c.id, "")
	}
	s.send(`[`+pingBody+`]`).fails(400, -32600, "", "batch")
}

func TestUnknownMethodIsAnsweredOnHTTP200(t *testing.T) {
	s := newWorld(t).connect("c1")
	for _, name := range []string{"prompts/list", "logging/setLevel", "resources/subscribe", "completion/complete", "tasks/list", "server/discover", `a\"b`} {
		s.send(`{"jsonrpc":"2.0","id":"m","method":"`+name+`"}`).fails(200, -32601, `"m"`, "Method not found")
	}
}

func TestParamsThatMakeNoAsk(t *testing.T) {
	s := newWorld(t).connect("c1")
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`,
	} {
		s.send(body).fails(200, -32602, "1", "Invalid params")
	}
}

func TestTemplatesAreAnEmptyList(t *testing.T) {
	newWorld(t).connect("c1").send(`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list","params":{}}`).
		is(200, `{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[]}}`)
}

func TestNotificationsAndResponsesAreAccepted(t *testing.T) {
	s := newWorld(t).connect("c1")
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{}}`,
		`{"jsonrpc":"2.0","method":"tools/call"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
	} {
		r := s.send(body)
		if r.status != 202 || r.body != "" || r.header.Get("Content-Type") != "" {
			t.Errorf("%s: got %d %q of type %q", body, r.status, r.body, r.header.Get("Content-Type"))
		}
	}
}

func TestNotificationIsRefusedWithoutID(t *testing.T) {
	w := newWorld(t)
	body := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	do(t, newClient(t), w.post("/mcp", body)).fails(400, -32600, "", "Mcp-Session-Id")
}

func TestHeadersTooBigAndMalformed(t *testing.T) {
	w := newWorld(t)
	conn := w.raw(postHead("/mcp", strings.Repeat("x", 2*maxHeader), "Content-Length: 0"))
	w.readResponse(bufio.NewReader(conn), "POST").fails(431, codeTransport, "", "headers")
	conn = w.raw("POST /mcp HTTP/1.1\r\nHost: g\r\nContent-Length: x\r\n\r\n")
	w.readResponse(bufio.NewReader(conn), "POST").fails(400, codeTransport, "", "malformed")
}

// TestExpectation has the body wait until it is asked for.
func TestExpectation(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	conn := w.raw(postHead("/containers/c1/mcp", s.token, fmt.Sprintf("Content-Length: %d", len(pingBody)), "Expect: 100-continue"))
	in := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := in.ReadString('\n'); err != nil || line != want {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	if _, err := conn.Write([]byte(pingBody)); err != nil {
		t.Fatal(err)
	}
	w.readResponse(in, "POST").is(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
}

func TestResponseWithUnknownRevisionIsRefusedWithoutID(t *testing.T) {
	s := newWorld(t).connect("c1")
	s.send(`{"jsonrpc":"2.0","id":1,"result":{}}`, with("MCP-Protocol-Version", "x")).fails(400, -32022, "", "2025-06-18")
}
