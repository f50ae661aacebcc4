package inside

import (
	"net/http"
	"strings"
	"testing"
)

// TestGETAndDELETEAreOfSessionsWhateverTheirVersion has both bear the header of
// the stateless revision.
func TestGETAndDELETEAreOfSessionsWhateverTheirVersion(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	s.listen("MCP-Protocol-Version: 2026-07-28")
	for _, verb := range []string{"GET", "DELETE"} {
		do(t, s.http, s.request("", method(verb), with("MCP-Protocol-Version", "2099-01-01"))).fails(400, -32022, "", "2026-07-28")
		do(t, s.http, w.post(s.path, "", method(verb), with("MCP-Protocol-Version", "2026-07-28"))).fails(400, -32600, "", "Mcp-Session-Id")
	}
	do(t, s.http, s.request("", method("DELETE"), with("MCP-Protocol-Version", "2026-07-28"))).is(204, "")
}

// TestWhoseAMessageIs has the version in _meta decide first, and the header then.
func TestWhoseAMessageIs(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	w.provide("c1").echo()
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	header := with("MCP-Protocol-Version", "2026-07-28")
	later := with("MCP-Protocol-Version", "2027-01-01")
	for _, c := range []struct {
		name    string
		request *http.Request
		status  int
		code    int32 // 0: a result, or nothing
		part    string
	}{
		{"request of a session", s.request(list), 200, 0, `"result":{"tools":[`},
		{"request of a session with an older version", s.request(list, with("MCP-Protocol-Version", "2024-11-05")), 200, 0, `"result":{"tools":[`},
		{"claim", w.modern("1", "tools/list", ""), 200, 0, `"resultType":"complete"`},
		{"claim with a good session", w.modern("1", "tools/list", "", with("Mcp-Session-Id", s.token)), 200, 0, `"resultType":"complete"`},
		{"claim with a lost session", w.modern("1", "tools/list", "", with("Mcp-Session-Id", "nonsense")), 200, 0, `"resultType":"complete"`},
		{"claim with two sessions", w.modern("1", "tools/list", "", twice("Mcp-Session-Id", s.token, "x")), 200, 0, `"resultType":"complete"`},
		{"claim of any type", s.request(strings.Replace(list, `}`, `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}}`, 1)), 400, -32602, "must be a string"},
		{"claim that is spelled with escapes", s.request(strings.Replace(list, `}`, `,"params":{"_\u006deta":{"io.modelcontextprotocol\/protocolVersion":1}}}`, 1)), 400, -32602, "must be a string"},
		{"claim of a session's revision", w.modernBody(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25",`+declared+`}}}`,
			"tools/list", with("MCP-Protocol-Version", "2025-11-25")), 400, -32022, "2026-07-28"},
		{"initialize with a claim", w.modern("1", "initialize", `"protocolVersion":"2025-11-25"`), 404, -32601, "initialize"},
		{"initialize with a claim of a session's revision", w.modernBody(strings.Replace(initializeBody, `"params":{`,
			`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25",`+declared+`},`, 1), "initialize", with("MCP-Protocol-Version", "")), 400, -32022, "2026-07-28"},
		{"initialize alone", w.post(s.path, initializeBody), 200, 0, `"protocolVersion":"2025-11-25"`},
		{"initialize under a modern header", w.post(s.path, initializeBody, header), 400, -32020, "initialize begins a session"},
		{"request under a modern header", s.request(list, header), 400, -32602, "params._meta needs"},
		{"request under a later header", s.request(list, later), 400, -32602, "params._meta needs"},
		{"request under a modern header, _meta no object", s.request(strings.Replace(list, `}`, `,"params":{"_meta":[]}}`, 1), header), 400, -32602, "_meta"},
		{"request of a session, _meta no object", s.request(strings.Replace(list, `}`, `,"params":{"_meta":[]}}`, 1)), 200, -32602, "_meta"},
		{"request of a session, _meta null", s.request(strings.Replace(list, `}`, `,"params":{"_meta":null}}`, 1)), 200, 0, `"result"`},
		{"request of a session, params null", s.request(strings.Replace(list, `}`, `,"params":null}`, 1)), 200, 0, `"result"`},
		{"notification under a modern header", w.post(s.path, `{"jsonrpc":"2.0","method":"notifications/x"}`, header), 202, 0, ""},
		{"notification under a later header", w.post(s.path, `{"jsonrpc":"2.0","method":"notifications/x"}`, later), 202, 0, ""},
		{"notification with a claim", w.post(s.path, `{"jsonrpc":"2.0","method":"notifications/x","params":{`+modernKey+`}}`), 202, 0, ""},
		{"notification of a session", s.request(`{"jsonrpc":"2.0","method":"notifications/x"}`), 202, 0, ""},
		{"notification of nobody", w.post(s.path, `{"jsonrpc":"2.0","method":"notifications/x"}`), 400, -32600, "Mcp-Session-Id"},
		{"response of a session under a modern header", s.request(`{"jsonrpc":"2.0","id":1,"result":{}}`, header), 202, 0, ""},
		{"response under a modern header", w.post(s.path, `{"jsonrpc":"2.0","id":1,"result":{}}`, header), 400, -32600, "Mcp-Session-Id"},
		{"response of a session under a later header", s.request(`{"jsonrpc":"2.0","id":1,"result":{}}`, later), 400, -32022, "2026-07-28"},
		{"request of nobody", w.post(s.path, list), 400, -32600, "Mcp-Session-Id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := do(t, newClient(t), c.request)
			if r.header.Get("Mcp-Session-Id") != "" && c.name != "initialize alone" {
				t.Error("a session began")
			}
			if c.code == 0 {
				if r.is(c.status, ""); !strings.Contains(r.body, c.part) || c.part == "" && r.body != "" {
					t.Errorf("got %s, want %s in it", r.body, c.part)
				}
				return
			}
			id := `1`
			switch {
			case strings.HasPrefix(c.name, "initialize with a claim of") || c.name == "initialize under a modern header":
				id = `0`
			case strings.HasPrefix(c.name, "notification") || strings.HasPrefix(c.name, "response"):
				id = ""
			}
			r.fails(c.status, c.code, id, c.part)
		})
	}
}

// TestModernNotificationCancelsNothing has clients cancel by a notification, as
// some do. The id it names may be anybody's.
func TestModernNotificationCancelsNothing(t *testing.T) {
	w := newWorld(t)
	s, p := w.connect("c1"), w.provide("c1")
	ofSession, alone := s.start(callBody), w.sends(w.modernCall("1"))
	first, second := p.next(), p.next()
	cancel := strings.Replace(cancelBody(`1`), `"params":{`, `"params":{`+modernKey+`,`, 1)
	do(t, newClient(t), w.modernBody(cancel, "notifications/cancelled", with("Mcp-Session-Id", s.token))).is(202, "")
	do(t, newClient(t), w.post(s.path, cancelBody(`1`), with("MCP-Protocol-Version", "2026-07-28"))).is(202, "")
	for _, a := range []heard{first, second} {
		p.result(a, `{"content":[]}`)
	}
	ofSession.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	alone.wait(200).is(200, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete",`+ourMeta+`}}`)
}

// TestUnrelatedClientsMayUseOneID has two modern requests with one id meet in a container.
func TestUnrelatedClientsMayUseOneID(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	one, two := w.sends(w.modernCall("1")), w.sends(w.modernCall("1"))
	for range 2 {
		p.result(p.next(), `{"content":[]}`)
	}
	one.wait(200)
	two.wait(200)
}

// TestBodiesAreReadAsFarAsTheyMayBeServed has requests be long that no session
// admits: only one that may be of the stateless revision is read to its end.
func TestBodiesAreReadAsFarAsTheyMayBeServed(t *testing.T) {
	w := newWorld(t, func(o *options) { o.maxBody = 4 * maxUnadmitted })
	s := w.connect("c1")
	w.provide("c1").echo()
	long := `"pad":"` + strings.Repeat("x", maxUnadmitted) + `"`
	tooLong := `"pad":"` + strings.Repeat("x", 4*maxUnadmitted) + `"`
	do(t, newClient(t), w.modern("1", "tools/list", long)).is(200, "")
	do(t, newClient(t), w.modern("1", "tools/list", long, with("Mcp-Session-Id", "nonsense"))).is(200, "")
	do(t, newClient(t), s.request(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+long+`}}`)).is(200, "")
	do(t, newClient(t), w.modern("1", "tools/list", tooLong)).fails(413, codeTransport, "", "262144")
	// None of these can be served.
	do(t, newClient(t), w.modern("1", "tools/list", long, with("MCP-Protocol-Version", "2099-01-01"))).
		fails(400, -32022, "", "2026-07-28").data(`{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2099-01-01"}`)
	do(t, newClient(t), w.modern("1", "tools/list", long, with("MCP-Protocol-Version", ""))).fails(400, -32600, "", "Mcp-Session-Id")
	do(t, newClient(t), w.modern("1", "tools/list", long, with("MCP-Protocol-Version", "2025-11-25"))).fails(400, -32600, "", "Mcp-Session-Id")
	do(t, newClient(t), w.modern("1", "tools/list", long, with("MCP-Protocol-Version", ""), with("Mcp-Session-Id", "nonsense"))).
		fails(404, -32001, "", "more than 65536 bytes is not read")
	do(t, newClient(t), s.request(`{"jsonrpc":"2.0","id":1,"method":"x","params":{`+long+`}}`, twice("MCP-Protocol-Version", "2025-11-25", "2026-07-28"))).
		fails(400, codeTransport, "", "two Mcp-Protocol-Version headers")
	// Shorter, a claim is recognized without its header, to be told what is missing.
	do(t, newClient(t), w.modern("1", "tools/list", "", with("MCP-Protocol-Version", ""))).fails(400, -32020, "1", "Mcp-Protocol-Version is missing")
}
