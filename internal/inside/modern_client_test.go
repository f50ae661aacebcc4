package inside

import (
	"net/http"
	"strings"
)

// What a modern request carries in its _meta, at least.
const (
	claim     = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	declared  = `"io.modelcontextprotocol/clientCapabilities":{}`
	modernKey = `"_meta":{` + claim + `,` + declared + `}`
	ourInfo   = `{"name":"gateway","version":"test"}`
	ourMeta   = `"_meta":{"io.modelcontextprotocol/serverInfo":` + ourInfo + `}`
)

// modern is a modern request with everything right, which changes spoil; members
// are those of its params besides _meta.
func (w *world) modern(id, name, members string, changes ...func(*http.Request)) *http.Request {
	if members != "" {
		members = "," + members
	}
	return w.modernBody(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+name+`","params":{`+modernKey+members+`}}`, name, changes...)
}

func (w *world) modernBody(body, name string, changes ...func(*http.Request)) *http.Request {
	return w.post("/containers/c1/mcp", body, append([]func(*http.Request){
		with("MCP-Protocol-Version", "2026-07-28"), with("Mcp-Method", name)}, changes...)...)
}

// modernCall is a tools/call of the tool t.
func (w *world) modernCall(id string, changes ...func(*http.Request)) *http.Request {
	return w.modern(id, "tools/call", `"name":"t"`, append([]func(*http.Request){with("Mcp-Name", "t")}, changes...)...)
}

// twice gives a header two values.
func twice(name, first, second string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = []string{first, second} }
}

// sends sends a request without waiting for its response.
func (w *world) sends(r *http.Request) *pending {
	s := &mcpSession{w: w, http: newClient(w.t)}
	return s.startRequest(r)
}

// data checks that an error's data is want.
func (r response) data(want string) response {
	r.t.Helper()
	if !strings.Contains(r.body, `"data":`+want+`}}`) {
		r.t.Errorf("got %s\nwant data %s", r.body, want)
	}
	return r
}
