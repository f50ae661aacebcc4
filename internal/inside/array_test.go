package inside

import (
	"net/http"
	"strings"
	"testing"
)

// connectOf begins a session of a revision.
func (w *world) connectOf(revision string) *mcpSession {
	w.t.Helper()
	s := &mcpSession{w: w, http: newClient(w.t), path: "/containers/c1/mcp"}
	s.token = do(w.t, s.http, w.post(s.path, strings.Replace(initializeBody, "2025-11-25", revision, 1))).is(200, "").header.Get("Mcp-Session-Id")
	return s
}

// TestArraysAreBatchesOfOldRevisions, which had them; in 2024-11-05 nothing forbids them.
func TestArraysAreBatchesOfOldRevisions(t *testing.T) {
	w := newWorld(t)
	for _, revision := range []string{"2024-11-05", "2025-03-26"} {
		s := w.connectOf(revision)
		s.send(`[`+pingBody+`]`).is(200, `[{"jsonrpc":"2.0","id":7,"result":{}}]`)
		s.send(`[`+pingBody+`]`, with("MCP-Protocol-Version", "2025-11-25")).is(200, `[{"jsonrpc":"2.0","id":7,"result":{}}]`)
		s.send(`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"result":{}}]`).is(202, "")
	}
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		w.connectOf(revision).send(`[`+pingBody+`]`).fails(400, -32600, "", revision+" does not have")
	}
}

// TestArraysThatAreNoBatch goes through what no revision allows.
func TestArraysThatAreNoBatch(t *testing.T) {
	w := newWorld(t)
	old := w.connectOf("2025-03-26")
	claiming := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernKey + `}}`
	for _, c := range []struct {
		body    string
		changes []func(*http.Request)
		status  int
		code    int32
		part    string
	}{
		{`[]`, nil, 400, -32600, "empty"},
		{`[` + pingBody, nil, 400, -32700, ""},
		{`[` + pingBody + `,` + initializeBody + `]`, nil, 400, -32600, "initialize"},
		{`[` + pingBody + `,` + claiming + `]`, nil, 400, -32600, "2026-07-28"},
		{`[` + claiming + `]`, []func(*http.Request){with("Mcp-Session-Id", ""), with("MCP-Protocol-Version", "2026-07-28")}, 400, -32600, "2026-07-28"},
		{`[{"jsonrpc":"2.0","method":"notifications/x","params":{` + modernKey + `}}]`, nil, 400, -32600, "2026-07-28"},
		{`[` + strings.Repeat(pingBody+`,`, maxBatch) + pingBody + `]`, nil, 400, -32600, "100"},
		{`[` + pingBody + `]`, []func(*http.Request){with("Mcp-Session-Id", "")}, 400, -32600, "Mcp-Session-Id"},
		{`[` + pingBody + `]`, []func(*http.Request){with("MCP-Protocol-Version", "1999-01-01")}, 400, -32022, "2025-11-25"},
		{`[` + pingBody + `]`, []func(*http.Request){with("Mcp-Session-Id", ""), with("MCP-Protocol-Version", "2026-07-28")}, 400, -32600, "Mcp-Session-Id"},
	} {
		old.send(c.body, c.changes...).fails(c.status, c.code, "", c.part)
	}
	old.send(`[`+pingBody+`]`, with("Mcp-Session-Id", "nonsense")).
		is(404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found: send initialize again, without Mcp-Session-Id"}}`)
	old.send(`[`+strings.Repeat(pingBody+`,`, maxBatch-1)+pingBody+`]`).is(200, "")
}

// TestAnySessionlessBatchIsRefused, whatever is in it: nothing of a batch is
// served that would not be served alone.
func TestAnySessionlessBatchIsRefused(t *testing.T) {
	w := newWorld(t)
	w.provide("c1").echo()
	path := "/containers/c1/mcp"
	for _, element := range []string{pingBody, callBody, cancelBody(`1`), initializeBody, `{"jsonrpc":"2.0","method":"notifications/x"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernKey + `}}`, `1`, `[]`} {
		for _, version := range []string{"", "2025-03-26", "2026-07-28"} {
			for _, batch := range []string{`[` + element + `]`, `[` + element + `,` + pingBody + `]`} {
				do(t, newClient(t), w.post(path, batch, with("MCP-Protocol-Version", version))).fails(400, -32600, "", "")
			}
		}
	}
	if w.mux.Stats().Present != 0 {
		t.Error("a refused batch counts as inside activity")
	}
}
