package inside

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/diverge-network/gateway/pkg/codec"
)

// annotated is a tool whose argument region travels in a header.
func annotated(name string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}`
}

func plainTool(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }

func toolList(more string, tools ...string) string {
	return `{"tools":[` + strings.Join(tools, ",") + `]` + more + `}`
}

// lists has a list of tools pass to a modern client.
func (w *world) lists(p *provider, members, result string) {
	w.t.Helper()
	reply := w.sends(w.modern("0", "tools/list", members))
	p.result(p.next(), result)
	reply.wait(200)
}

// calls is a modern tools/call with arguments, and with headers of pairs.
func (w *world) calls(tool, arguments string, headers ...string) *http.Request {
	members := `"name":"` + tool + `"`
	if arguments != "" {
		members += `,"arguments":` + arguments
	}
	return w.modern(`"c"`, "tools/call", members, with("Mcp-Name", tool), func(r *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
		}
	})
}

// passes checks that a call reaches the provider's server.
func (w *world) passes(p *provider, r *http.Request) {
	w.t.Helper()
	reply := w.sends(r)
	p.result(p.next(), emptyContent)
	reply.wait(200)
}

// refuses checks that a call is refused, and reaches nobody.
func (w *world) refuses(r *http.Request, part string) {
	w.t.Helper()
	do(w.t, newClient(w.t), r).fails(400, -32020, `"c"`, part)
}

func TestHeadersOfParamsMustRepeatTheArguments(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	w.passes(p, w.calls("t", `{"region":"eu"}`)) // nothing is known of it
	w.lists(p, "", toolList("", plainTool("plain"), annotated("t")))

	w.passes(p, w.calls("t", `{"region":"eu"}`, "Mcp-Param-Region", "eu"))
	w.passes(p, w.calls("t", `{"region":"eu","n":42}`, "mcp-param-REGION", " =?base64?ZXU=?= ", "Mcp-Param-N", "42.0"))
	w.passes(p, w.calls("t", `{"region":null}`))
	w.passes(p, w.calls("t", ``))
	w.passes(p, w.calls("t", `{"other":"x"}`, "Mcp-Param-Other", "y"))
	w.passes(p, w.calls("plain", `{"region":"eu"}`))
	w.passes(p, w.calls("unknown", `{"region":"eu"}`))

	w.refuses(w.calls("t", `{"region":"eu"}`), "Mcp-Param-Region is missing: it must repeat params.arguments.region")
	w.refuses(w.calls("t", `{"region":"eu"}`, "Mcp-Param-Region", "us"), "Mcp-Param-Region differs")
	w.refuses(w.calls("t", `{"region":"Hello"}`, "Mcp-Param-Region", "=?base64?SGVsbG8?="), "not in padded Base64")
	w.refuses(w.calls("t", `{"region":"eu"}`, "Mcp-Param-Region", "eu", "Mcp-Param-Region", "eu"), "two Mcp-Param-Region headers")
	w.refuses(w.calls("t", `{"region":null}`, "Mcp-Param-Region", "eu"), "Mcp-Param-Region is there")
	w.refuses(w.calls("t", `{"region":"eu","region":"us"}`, "Mcp-Param-Region", "eu"), "there twice")
	w.refuses(w.calls("t", `{},"arguments":{"region":"eu"}`), "cannot be compared")
	if n := w.observed.of("refused inside header-mismatch"); n != 7 {
		t.Errorf("%d were counted", n)
	}

	// A session's calls have no such headers, and another container's tools are others.
	reply := w.connect("c1").start(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"region":"eu"}}}`)
	p.result(p.next(), emptyContent)
	reply.wait(200)
	other := w.provide("c2")
	elsewhere := w.calls("t", `{"region":"eu"}`)
	elsewhere.URL.Path = "/containers/c2/mcp"
	w.passes(other, elsewhere)
}

func TestToolsAreKnownByTheListsThatPass(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	call := func(tool string) *http.Request { return w.calls(tool, `{"region":"eu"}`) }
	const missing = "Mcp-Param-Region is missing"

	w.lists(p, "", toolList(`,"nextCursor":"2"`, annotated("one"), plainTool("two")))
	w.lists(p, `"cursor":"2"`, toolList("", annotated("three")))
	w.refuses(call("one"), missing)
	w.refuses(call("three"), missing)
	w.passes(p, call("two"))

	w.lists(p, `"cursor":"2"`, toolList("", plainTool("three"), annotated("two"))) // the tools have changed, and nobody said so
	w.refuses(call("one"), missing)
	w.refuses(call("two"), missing)
	w.passes(p, call("three"))

	w.lists(p, "", toolList("", annotated("four"))) // the whole of it
	w.refuses(call("four"), missing)
	w.passes(p, call("one"))

	p.notify(resourcesChanged)
	w.refuses(call("four"), missing)
	p.notify(toolsChanged)
	w.passes(p, call("four"))

	s := w.connect("c1") // a session's list is one too
	reply := s.start(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	p.result(p.next(), toolList("", annotated("five"), `{"name":"six","inputSchema":{"x-mcp-header":"A"}}`))
	reply.wait(200)
	w.refuses(call("five"), missing)
	w.passes(p, call("six")) // its annotations are not valid
}

func TestNothingIsKeptOfToolsWithoutAnnotations(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	face := func() *Face { return w.mux.Lookup("c1").Sink().(*Face) }
	w.lists(p, "", toolList("", plainTool("t")))
	w.lists(p, "", toolList("", `{"name":"t","description":"x-mcp-header"}`, `{"name":"u","inputSchema":{"x-mcp-header":"A"}}`))
	if face().tools.Load() != nil {
		t.Error("something is kept")
	}
	var many []string
	for i := range 2 * toolLimits.Tools {
		many = append(many, annotated(fmt.Sprintf("tool-%d", i)))
	}
	w.lists(p, "", toolList("", many...))
	known := 0
	for i := range many {
		if face().tools.Load().Find(fmt.Appendf(nil, "tool-%d", i)) != nil {
			known++
		}
	}
	if known == 0 || known > toolLimits.Tools {
		t.Errorf("%d tools are kept", known)
	}
	p.notify(toolsChanged)
	if face().tools.Load() != nil {
		t.Error("something is kept after a change")
	}
}

// TestARefusedCallDoesNotBeginItsContainer, nor does it count as one of its
// requests.
func TestARefusedCallDoesNotBeginItsContainer(t *testing.T) {
	w := newWorld(t)
	there(w.mux.Container("c1"))
	page, err := toolheader.Read([]byte(toolList("", annotated("t"))))
	if err != nil {
		t.Fatal(err)
	}
	tools := toolheader.New(toolLimits)
	tools.Learn(&page, true)
	w.mux.Lookup("c1").Sink().(*Face).tools.Store(tools)
	w.refuses(w.calls("t", `{"region":"eu"}`), "Mcp-Param-Region is missing")
	if n := w.mux.Stats().Present; n != 0 {
		t.Errorf("%d containers are present", n)
	}
}

// TestOfficialClientRepeatsArgumentsInHeaders has the SDK's client list and call a
// tool that wants them.
func TestOfficialClientRepeatsArgumentsInHeaders(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := w.provide("c1")
	session := w.sdkClient(ctx, "/containers/c1/mcp", "", nil)
	failed := make(chan error, 1)
	go func() { _, err := session.ListTools(ctx, nil); failed <- err }()
	p.result(p.next(), toolList("", annotated("t")))
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []map[string]any{
		{"region": "eu", "n": -1}, {"region": " größer\n", "n": nil}, {"region": "=?base64?x?="}, {"n": 1 << 53}, {"region": ""}, {},
	} {
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: arguments})
			failed <- err
		}()
		heard := p.next()
		var got struct{ Arguments map[string]any }
		if err := json.Unmarshal(heard.payload, &got); err != nil || len(got.Arguments) != len(arguments) {
			t.Errorf("heard %s", heard.payload)
		}
		p.echoOne(heard)
		if err := <-failed; err != nil {
			t.Errorf("%v: %v", arguments, err)
		}
	}
}

// FuzzParams gives any arguments and any header to a call of a tool that wants
// them: there is no panic, and it is refused with the one status and code.
func FuzzParams(f *testing.F) {
	for _, seed := range []struct{ arguments, header string }{
		{`{"region":"eu"}`, "eu"}, {`{"n":1.0}`, "1"}, {`{"region":"é"}`, "=?base64?w6k=?="}, {`null`, ""}, {`{},"arguments":{}`, ""}, {`{"region":"\ud800"}`, ""},
	} {
		f.Add(seed.arguments, seed.header)
	}
	w := newWorld(f)
	face := there(w.mux.Container(defaultContainer)).Sink().(*Face)
	face.learn(nil, []byte(toolList("", annotated("t"))))
	w.mux.Stop() // asks are settled at once
	client := w.offline()
	f.Fuzz(func(t *testing.T, arguments, header string) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + modernKey + `,"name":"t","arguments":` + arguments + `}}`
		if m, err := codec.ParseMessage([]byte(body)); err != nil || string(m.Name) != `"t"` ||
			strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) || len(header) > 1<<10 {
			t.Skip("no call of the tool that a client could send: not JSON, another name, or no header's text")
		}
		head := postHead("/mcp", "", "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: t", "mcp-param-region: "+header, fmt.Sprintf("Content-Length: %d", len(body)))
		x := client.request([]byte(head), body)
		defer x.release()
		w.handler.serve(x)
		answer, err := codec.ParseMessage(x.response.Body())
		if err != nil || answer.Error == nil {
			t.Fatalf("%v: %s", err, x.response.Body())
		}
		e, err := codec.ParseError(answer.Error)
		if err != nil || (x.response.StatusCode() == 400) != (e.Code == -32020) {
			t.Fatalf("status %d: %s, %v", x.response.StatusCode(), answer.Error, err)
		}
	})
}
