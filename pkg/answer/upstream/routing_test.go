package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTheNameInTheHeaderIsTheOneInTheBody(t *testing.T) {
	encoded := func(name string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?=" }
	for _, c := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"plain"}`, "plain"},
		{"tools/call", `{"name":"with a  space"}`, "with a  space"},
		{"tools/call", `{"n\u0061me":"esc\u0061ped\/"}`, "escaped/"},
		{"tools/call", `{"name":"é"}`, encoded("é")},
		{"tools/call", `{"name":" x"}`, encoded(" x")},
		{"tools/call", `{"name":"x "}`, encoded("x ")},
		{"tools/call", `{"name":"\tx"}`, encoded("\tx")},
		{"tools/call", `{"name":"a\r\nX-Evil: 1"}`, encoded("a\r\nX-Evil: 1")},
		{"tools/call", `{"name":"\u007f"}`, encoded("\x7f")},
		{"tools/call", `{"name":"=?base64?eA==?="}`, encoded("=?base64?eA==?=")},
		{"tools/call", `{"name":""}`, encoded("")},
		{"tools/call", `{"uri":"x"}`, "none"},
		{"tools/call", `{"name":1}`, "none"},
		{"tools/call", `{"name":"a","name":"b"}`, "none"},
		{"resources/read", `{"uri":"a:b?c=%20","name":"x"}`, "a:b?c=%20"},
		{"resources/read", `{"uri":"a:日本"}`, encoded("a:日本")},
		{"tools/list", `{"name":"x","uri":"y"}`, "none"},
	} {
		header := http.Header{"Mcp-Name": {"other"}}
		newRouting(&jsonrpc.Request{Method: c.method, Params: json.RawMessage(c.params)}, new(toolheader.Tools)).set(header)
		got := "none"
		if header["Mcp-Name"] != nil {
			got = header.Get("Mcp-Name")
		}
		if got != c.want || header.Get("Mcp-Method") != c.method {
			t.Errorf("%s %s has the headers %v, want the name %q", c.method, c.params, header, c.want)
		}
	}
}

func TestNamesThatAreNotASCIIReachServersThatKnowEitherForm(t *testing.T) {
	const name = "grüße"
	t.Run("encoded", func(t *testing.T) {
		server := modern(nil, func(w http.ResponseWriter, m message) { m.result(w, `{"content":[]}`) })
		u := open(t, Config{URL: newSite(t, server).url()})
		ask(t, u, codec.CallTool, `{"name":"`+name+`"}`)
		if got := server.got("tools/call"); len(got) != 1 || got[0].req.Header.Get("Mcp-Name") != toolheader.Encode(name) {
			t.Errorf("the server got %d calls", len(got))
		}
	})
	t.Run("as they are", func(t *testing.T) { // the SDK's server
		real := newServer(nil)
		real.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
		})
		r := &recorder{Handler: served(t, real, forms["stateless"])}
		u := open(t, Config{URL: newSite(t, r).url()})
		for range 2 {
			if got := text(t, ask(t, u, codec.CallTool, `{"name":"`+name+`"}`)); got != "ok" {
				t.Errorf("answered %s", got)
			}
		}
		var names []string
		for _, req := range r.all() {
			if req.Header.Get("Mcp-Method") == "tools/call" {
				names = append(names, req.Header.Get("Mcp-Name"))
			}
		}
		if got, want := strings.Join(names, " "), toolheader.Encode(name)+" "+name+" "+name; got != want {
			t.Errorf("called %s, want %s", got, want)
		}
	})
	t.Run("neither", func(t *testing.T) {
		var calls atomic.Int32
		server := modern(nil, func(w http.ResponseWriter, m message) {
			if m.Method == "tools/call" {
				calls.Add(1)
			}
			m.fails(w, 400, -32020)
		})
		u := open(t, Config{URL: newSite(t, server).url()})
		for range 2 {
			if got := fails(t, u, codec.CallTool, `{"name":"`+name+`"}`); got.Code != codeHeaderMismatch {
				t.Errorf("answered %s", got.Append(nil))
			}
		}
		if calls.Load() != 4 {
			t.Errorf("called %d times", calls.Load())
		}
	})
}
