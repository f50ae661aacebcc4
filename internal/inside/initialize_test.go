package inside

import (
	"fmt"
	"strings"
	"testing"
)

func TestInitializeNegotiatesTheRevision(t *testing.T) {
	w := newWorld(t)
	for requested, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "2020-01-01": "2025-11-25", "garbage": "2025-11-25", "": "2025-11-25",
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":%q}}`, requested)
		r := do(t, newClient(t), w.post("/containers/c1/mcp", body))
		r.is(200, `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"`+want+
			`","capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true}},"serverInfo":{"name":"gateway","version":"test"}}}`)
		token := r.header.Get("Mcp-Session-Id")
		s, ok := w.faces.verify("c1", []byte(token))
		if !ok || s.revision.String() != want {
			t.Errorf("%q: the session says %v, want %s", requested, s.revision, want)
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
			t.Errorf("the session id %q is not visible ASCII", token)
		}
	}
}

func TestInitializeNeedsAVersion(t *testing.T) {
	w := newWorld(t)
	for _, params := range []string{`{}`, `{"protocolVersion":1}`, `{"protocolVersion":null}`, `[]`, `null`} {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`
		r := do(t, newClient(t), w.post("/containers/c1/mcp", body)).fails(200, -32602, "1", "protocolVersion")
		if r.header.Get("Mcp-Session-Id") != "" {
			t.Error("a failed initialize gave a session")
		}
	}
	if w.mux.Lookup("c1") != nil {
		t.Error("a failed initialize began its container")
	}
}

func TestInitializeIgnoresAStaleSession(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	s.delete().is(204, "")
	r := do(t, newClient(t), w.post("/containers/c1/mcp", initializeBody, with("Mcp-Session-Id", s.token))).is(200, "")
	if fresh := r.header.Get("Mcp-Session-Id"); fresh == "" || fresh == s.token {
		t.Errorf("got session %q", fresh)
	}
}

// TestInitializeUnderAModernHeaderIsRefused has a header deny what the body asks for.
func TestInitializeUnderAModernHeaderIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, version := range []string{"2026-07-28", "2099-01-01"} {
		r := do(t, newClient(t), w.post("/mcp", initializeBody, with("MCP-Protocol-Version", version))).
			fails(400, -32020, "0", "Header mismatch")
		if r.header.Get("Mcp-Session-Id") != "" {
			t.Error("it gave a session all the same")
		}
	}
	do(t, newClient(t), w.post("/mcp", initializeBody, with("MCP-Protocol-Version", "1999-01-01"))).fails(400, -32022, "0", "2025-11-25")
	do(t, newClient(t), w.post("/mcp", initializeBody, with("MCP-Protocol-Version", "2025-06-18"))).is(200, "")
}

// TestInitializedNeedNotArrive has a session work whose client never says
// notifications/initialized.
func TestInitializedNeedNotArrive(t *testing.T) {
	w := newWorld(t)
	s := w.connect("c1")
	w.provide("c1").echo()
	s.listen()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).is(200, "")
}
