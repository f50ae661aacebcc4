package inside

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

const allVersions = `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`

// TestModernRequestIsValidated goes through what can be wrong with one, each
// fault before those that come behind it: a request that has them all is told
// the first.
func TestModernRequestIsValidated(t *testing.T) {
	w := newWorld(t)
	w.provide("c1").echo()
	meta := func(members string) *http.Request {
		return w.modernBody(`{"jsonrpc":"2.0","id":"m","method":"tools/call","params":{"_meta":{`+members+`}}}`, "x",
			twice("MCP-Protocol-Version", "v999", "v998"))
	}
	const info = `,"io.modelcontextprotocol/clientInfo":`
	for name, r := range map[string]*http.Request{
		"no version":              meta(declared),
		"version no string":       meta(`"io.modelcontextprotocol/protocolVersion":20260728,` + declared),
		"no capabilities":         meta(claim),
		"capabilities no object":  meta(claim + `,"io.modelcontextprotocol/clientCapabilities":[]`),
		"capabilities null":       meta(claim + `,"io.modelcontextprotocol/clientCapabilities":null`),
		"info null":               meta(claim + `,` + declared + info + `null`),
		"info no object":          meta(claim + `,` + declared + info + `"x"`),
		"info without a version":  meta(claim + `,` + declared + info + `{"name":"x"}`),
		"info without a name":     meta(claim + `,` + declared + info + `{"version":"x"}`),
		"info with a bad version": meta(claim + `,` + declared + info + `{"name":"x","version":1}`),
		"version twice":           meta(claim + `,` + claim + `,` + declared),
	} {
		t.Run(name, func(t *testing.T) { do(t, newClient(t), r).fails(400, -32602, `"m"`, "Invalid params") })
	}
	for _, c := range []struct {
		name    string
		request *http.Request
		status  int
		code    int32
		part    string
	}{
		{"version twice in the head", w.modern("1", "x", "", twice("MCP-Protocol-Version", "2026-07-28", "2026-07-28")), 400, -32020, "two Mcp-Protocol-Version headers"},
		{"version differs", w.modern("1", "x", "", with("MCP-Protocol-Version", "2025-11-25"), with("Mcp-Method", "y")), 400, -32020, "Mcp-Protocol-Version differs"},
		{"version differs from one not served", w.modernBody(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999.0.0",`+declared+`}}}`, "y"), 400, -32020, "Mcp-Protocol-Version differs"},
		{"version not served", w.modernBody(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999.0.0",`+declared+`}}}`, "y", with("MCP-Protocol-Version", "v999.0.0")), 400, -32022, "supported are 2026-07-28"},
		{"version not served, and none in the head", w.modernBody(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01",`+declared+`}}}`, "y", with("MCP-Protocol-Version", "")), 400, -32022, "supported are 2026-07-28"},
		{"no version in the head", w.modern("1", "x", "", with("MCP-Protocol-Version", ""), with("Mcp-Method", "")), 400, -32020, "Mcp-Protocol-Version is missing"},
		{"no method", w.modern("1", "tools/call", "", with("Mcp-Method", "")), 400, -32020, "Mcp-Method is missing"},
		{"method twice", w.modern("1", "tools/call", "", twice("Mcp-Method", "tools/call", "tools/call")), 400, -32020, "two Mcp-Method headers"},
		{"method differs", w.modern("1", "tools/call", "", with("Mcp-Method", "tools/list")), 400, -32020, "Mcp-Method differs"},
		{"method differs in case", w.modern("1", "tools/call", "", with("Mcp-Method", "Tools/call")), 400, -32020, "Mcp-Method differs"},
		{"method in Base64", w.modern("1", "tools/list", "", with("Mcp-Method", "=?base64?dG9vbHMvbGlzdA==?=")), 400, -32020, "Mcp-Method differs"},
		{"call without a name header", w.modern("1", "tools/call", `"name":"t"`), 400, -32020, "Mcp-Name is missing"},
		{"call without a name", w.modern("1", "tools/call", "", with("Mcp-Name", "t")), 400, -32020, "Mcp-Name differs"},
		{"call whose name is no string", w.modern("1", "tools/call", `"name":1`, with("Mcp-Name", "1")), 400, -32020, "Mcp-Name differs"},
		{"call of another name", w.modern("1", "tools/call", `"name":"t"`, with("Mcp-Name", "T")), 400, -32020, "Mcp-Name differs"},
		{"name twice", w.modern("1", "tools/call", `"name":"t"`, twice("Mcp-Name", "t", "t")), 400, -32020, "two Mcp-Name headers"},
		{"read without a name header", w.modern("1", "resources/read", `"uri":"u"`), 400, -32020, "Mcp-Name is missing"},
		{"read of another resource", w.modern("1", "resources/read", `"uri":"u","name":"v"`, with("Mcp-Name", "v")), 400, -32020, "Mcp-Name differs"},
		{"prompt without a name header", w.modern("1", "prompts/get", `"name":"p"`), 400, -32020, "Mcp-Name is missing"},
		{"prompt", w.modern("1", "prompts/get", `"name":"p"`, with("Mcp-Name", "p")), 404, -32601, "prompts/get"},
		{"two names in the body", w.modern("1", "tools/call", `"name":"t","name":"u"`, with("Mcp-Name", "t")), 400, -32600, "name"},
	} {
		t.Run(c.name, func(t *testing.T) { do(t, newClient(t), c.request).fails(c.status, c.code, "1", c.part) })
	}
	if w.observed.of("refused inside request-meta") != 11 || w.observed.of("refused inside header-mismatch") != 17 {
		t.Errorf("counted: %v", w.observed.seen)
	}
}

func TestUnsupportedVersionIsEchoed(t *testing.T) {
	w := newWorld(t)
	for raw, header := range map[string]string{`"2099-01-01"`: "2099-01-01", `"2025-11-25"`: "2025-11-25", `"v\u0039"`: "v9", `""`: ""} {
		body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` + raw + `,` + declared + `}}}`
		do(t, newClient(t), w.modernBody(body, "server/discover", with("MCP-Protocol-Version", header))).
			fails(400, -32022, "1", "").data(`{"supported":` + allVersions + `,"requested":` + raw + `}`)
	}
	do(t, newClient(t), w.post("/mcp", pingBody, with("MCP-Protocol-Version", "2024-01-01"))).
		fails(400, -32022, "7", "").data(`{"supported":` + allVersions + `,"requested":"2024-01-01"}`)
}

// TestHeadersThatRepeatTheBody goes through the forms in which they may come.
func TestHeadersThatRepeatTheBody(t *testing.T) {
	w := newWorld(t)
	w.provide("c1").echo()
	encoded := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	for _, c := range []struct {
		name, raw, header string
		ok                bool
	}{
		{"plain", `"a b"`, "a b", true},
		{"white space around", `"t"`, " \tt\t ", true},
		{"escapes in the body", `"\u0074\/"`, "t/", true},
		{"raw UTF-8", `"é😀"`, "é😀", true},
		{"Base64 of UTF-8", `"é😀"`, encoded("é😀"), true},
		{"Base64 of a line break", `"a\nb"`, encoded("a\nb"), true},
		{"Base64 of white space", `" t "`, encoded(" t "), true},
		{"empty", `""`, "", true},
		{"Base64 of nothing", `""`, "=?base64??=", true},
		{"what looks encoded, encoded", `"=?base64?dA==?="`, encoded("=?base64?dA==?="), true},
		{"what looks encoded, not encoded", `"=?base64?dA==?="`, "=?base64?dA==?=", false},
		{"half of what looks encoded", `"=?base64?dA=="`, "=?base64?dA==", true},
		{"Base64 without padding", `"t"`, "=?base64?dA?=", false},
		{"Base64 with stray bits", `"t"`, "=?base64?dB==?=", false},
		{"Base64 of the URL alphabet", `"ÿþ"`, "=?base64?w7_Dvg==?=", false},
		{"Base64 of no UTF-8", `"ÿ"`, "=?base64?/w==?=", false},
		{"Base64 of another name", `"t"`, encoded("u"), false},
		{"prefix in another case", `"t"`, "=?BASE64?dA==?=", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := func(r *http.Request) { r.Header["Mcp-Name"] = []string{c.header} }
			r := do(t, newClient(t), w.modern("1", "tools/call", `"name":`+c.raw, changed))
			if c.ok {
				r.is(200, "")
			} else {
				r.fails(400, -32020, "1", "Mcp-Name")
			}
		})
	}
	lower := func(r *http.Request) {
		r.Header = http.Header{"content-type": r.Header["Content-Type"], "accept": r.Header["Accept"],
			"mcp-protocol-version": {" 2026-07-28\t"}, "mcp-method": {" tools/call "}, "mcp-name": {"t"}}
	}
	do(t, newClient(t), w.modernCall("1", lower)).is(200, "")
}

// TestModernMethods goes through what is served, and what exists no longer.
func TestModernMethods(t *testing.T) {
	w := newWorld(t)
	w.provide("c1").echo()
	templates := `{"resultType":"complete","resourceTemplates":[],"ttlMs":0,"cacheScope":"private",` + ourMeta + `}`
	do(t, newClient(t), w.modern(`"x"`, "resources/templates/list", "")).is(200, `{"jsonrpc":"2.0","id":"x","result":`+templates+`}`)
	for name, r := range map[string]*http.Request{
		"tools/list": w.modern("1", "tools/list", ""), "tools/call": w.modernCall("1"),
		"resources/list": w.modern("1", "resources/list", ""),
		"resources/read": w.modern("1", "resources/read", `"uri":"file:///a"`, with("Mcp-Name", "file:///a")),
	} {
		r := do(t, newClient(t), r).is(200, "")
		if !strings.Contains(r.body, `"result":`) || r.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: got %s, %v", name, r.body, r.header)
		}
	}
	for _, name := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		"prompts/list", "completion/complete", "tasks/list", "tasks/get", "tasks/result", "tasks/cancel", "x", "Tools/list"} {
		r := do(t, newClient(t), w.modern(`"m"`, name, "", with("Mcp-Session-Id", "nonsense"))).fails(404, -32601, `"m"`, name)
		if got := r.header.Get("Content-Type"); got != "application/json" {
			t.Errorf("the type is %q", got)
		}
	}
}

// TestModernRequestsBeginTheirContainer, those that were refused do not.
func TestModernRequestsBeginTheirContainer(t *testing.T) {
	w := newWorld(t)
	do(t, newClient(t), w.modern("1", "ping", "")).is(404, "")
	do(t, newClient(t), w.modern("1", "server/discover", "", with("Mcp-Method", ""))).is(400, "")
	do(t, newClient(t), w.modern("1", "subscriptions/listen", "")).is(200, "")
	do(t, newClient(t), w.modernBody(`{"jsonrpc":"2.0","method":"notifications/x"}`, "notifications/x")).is(202, "")
	if w.mux.Lookup("c1") != nil {
		t.Error("the container began")
	}
	do(t, newClient(t), w.modern("1", "server/discover", "")).is(200, "")
	if w.mux.Lookup("c1") == nil {
		t.Error("the container did not begin")
	}
}

// TestDiscover is answered without anybody behind the gateway.
func TestDiscover(t *testing.T) {
	w := newWorld(t)
	want := `{"resultType":"complete","supportedVersions":` + allVersions +
		`,"capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true}},"ttlMs":0,"cacheScope":"private",` + ourMeta + `}`
	do(t, newClient(t), w.modern("0", "server/discover", "")).is(200, `{"jsonrpc":"2.0","id":0,"result":`+want+`}`)
	do(t, newClient(t), w.modern(`""`, "server/discover", `"x":1`)).is(200, `{"jsonrpc":"2.0","id":"","result":`+want+`}`)
	// A session's client asks for it in vain, in a way to fall back from.
	w.connect("c1").send(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`).fails(200, -32601, "1", "server/discover")
	do(t, newClient(t), w.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)).fails(400, -32600, "1", "initialize")
}
