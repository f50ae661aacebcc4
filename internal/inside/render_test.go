package inside

import (
	"strings"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// rendering renders an answer for a client of an era.
func (w *world) rendering(e era, k codec.Kind, tag codec.Tag, body string) (string, int) {
	w.t.Helper()
	a := &asking{era: e, kind: k, message: codec.Message{ID: []byte(`"\u0069"`)}}
	answer, err := codec.DecodeAnswer(k, append([]byte{byte(tag)}, body...))
	if err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	out, status := w.handler.rendered(a, mux.Settlement{Outcome: mux.Answered, Answer: answer})
	defer out.Release()
	if err := codec.CheckJSON(out.B); err != nil {
		w.t.Errorf("%s became %s: %v", body, out.B, err)
	}
	return string(out.B), status
}

const (
	cached = `"resultType":"complete","ttlMs":0,"cacheScope":"private",` + ourMeta
	whole  = `"resultType":"complete",` + ourMeta
)

// TestResultsForModernClients adds what a far side with sessions does not say,
// and changes nothing that one without says.
func TestResultsForModernClients(t *testing.T) {
	w := newWorld(t)
	input := `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{}}},"requestState":"s"`
	for _, c := range []struct {
		kind         codec.Kind
		result, want string
	}{
		{codec.ListTools, `{"tools":[]}`, `{"tools":[],` + cached + `}`},
		{codec.ListResources, `{"resources":[],"nextCursor":"x"}`, `{"resources":[],"nextCursor":"x",` + cached + `}`},
		{codec.ReadResource, `{"contents":[]}`, `{"contents":[],` + cached + `}`},
		{codec.CallTool, `{"content":[],"isError":true}`, `{"content":[],"isError":true,` + whole + `}`},
		{codec.CallTool, `{"structuredContent":[1, 2],"content":[]}`, `{"structuredContent":[1, 2],"content":[],` + whole + `}`},
		{codec.CallTool, `{"structuredContent":1}`, `{"structuredContent":1,` + `"resultType":"complete","content":[{"type":"text","text":"1"}],` + ourMeta + `}`},
		{codec.ListTools, `{"tools":[],"resultType":"complete","ttlMs":5,"cacheScope":"public"}`,
			`{"tools":[],"resultType":"complete","ttlMs":5,"cacheScope":"public",` + ourMeta + `}`},
		{codec.ListTools, `{"tools":[{"name":"a","execution":{}}],"_meta":{"a":1}}`,
			`{"tools":[{"name":"a","execution":{}}],"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":` + ourInfo + `},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`},
		{codec.CallTool, `{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs"}}}`,
			`{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs"}}}`},
		{codec.CallTool, input + `}`, input + `,` + ourMeta + `}`},
		{codec.ReadResource, input + `}`, input + `,` + ourMeta + `}`},
	} {
		got, status := w.rendering(modern, c.kind, codec.TagResult, c.result)
		if want := `{"jsonrpc":"2.0","id":"\u0069","result":` + c.want + `}`; !sameMembers(t, got, want) || status != 200 {
			t.Errorf("%v %s:\ngot  %d %s\nwant %s", c.kind, c.result, status, got, want)
		}
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"\u0069","result":`) {
			t.Errorf("the id is not kept: %s", got)
		}
	}
}

// TestErrorsForModernClients maps what that revision does not have, and gives
// the status that belongs to a code.
func TestErrorsForModernClients(t *testing.T) {
	w := newWorld(t)
	for code, c := range map[string]struct {
		want   string
		status int
	}{
		"-32602": {"-32602", 200}, "-32603": {"-32603", 200}, "-32601": {"-32601", 404}, "-32021": {"-32021", 400},
		"-32020": {"-32020", 200}, "-32022": {"-32022", 200}, "-32002": {"-32602", 200}, "-32042": {"-32603", 200},
		"-32099": {"-32603", 200}, "-32023": {"-32603", 200}, "-32000": {"-32000", 200}, "-32001": {"-32001", 200}, "7": {"7", 200},
	} {
		tail := `, "message":"m", "data":{"requiredCapabilities":{"x":{}},"uri":"u"},"y":1}`
		got, status := w.rendering(modern, codec.ReadResource, codec.TagError, `{"code":`+code+tail)
		if want := `{"jsonrpc":"2.0","id":"\u0069","error":{"code":` + c.want + tail + `}`; got != want || status != c.status {
			t.Errorf("%s: got %d %s\nwant %d %s", code, status, got, c.status, want)
		}
		if got, status = w.rendering(legacy, codec.ReadResource, codec.TagError, `{"code":`+code+tail); status != 200 ||
			got != `{"jsonrpc":"2.0","id":"\u0069","error":{"code":`+code+tail+`}` {
			t.Errorf("of a session: %s became %d %s", code, status, got)
		}
	}
}

// TestResultsForSessions keeps from clients of sessions what they would choke on.
func TestResultsForSessions(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		kind         codec.Kind
		result, want string
	}{
		{codec.ListTools, `{ "tools":[], "n":1.0 }`, `{ "tools":[], "n":1.0 }`},
		{codec.ListTools, `{"tools":[],"resultType":"complete","ttlMs":0}`, `{"tools":[],"resultType":"complete","ttlMs":0}`},
		{codec.ListTools, `{"tools":[{"name":"a","outputSchema":{"type":"array"}},{"name":"b","outputSchema":{"type":"object"}}]}`,
			`{"tools":[{"name":"a"},{"name":"b","outputSchema":{"type":"object"}}]}`},
		{codec.CallTool, `{"content":[],"structuredContent":[1]}`, `{"content":[]}`},
		{codec.CallTool, `{"structuredContent":{"a":1}}`, `{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]}`},
		{codec.CallTool, `{"content":[],"structuredContent":{"a":1}}`, `{"content":[],"structuredContent":{"a":1}}`},
	} {
		got, status := w.rendering(legacy, c.kind, codec.TagResult, c.result)
		if want := `{"jsonrpc":"2.0","id":"\u0069","result":` + c.want + `}`; got != want || status != 200 {
			t.Errorf("%v %s:\ngot  %d %s\nwant %s", c.kind, c.result, status, got, want)
		}
	}
	got, status := w.rendering(legacy, codec.CallTool, codec.TagResult, `{"resultType":"input_required","requestState":"s"}`)
	if !strings.Contains(got, `"code":-32603,"message":"the server asks for input`) || !strings.Contains(got, `"data":{"reason":"input-required"}`) || status != 200 {
		t.Errorf("got %d %s", status, got)
	}
}

// TestFaultsAreOnHTTP200InBothEras, so that clients read them.
func TestFaultsAreOnHTTP200InBothEras(t *testing.T) {
	w := newWorld(t)
	for _, e := range []era{legacy, modern} {
		for _, s := range []mux.Settlement{
			{Outcome: mux.NotServed}, {Outcome: mux.Unreadable, Err: codec.ErrEmpty}, {Outcome: mux.TooBig, Limit: 1}, {Outcome: mux.Stopped},
		} {
			out, status := w.handler.rendered(&asking{era: e, message: codec.Message{ID: []byte("1")}}, s)
			if !strings.HasPrefix(string(out.B), `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,`) || status != 200 {
				t.Errorf("%v: got %d %s", s.Outcome, status, out.B)
			}
			out.Release()
		}
	}
}

// TestModernExchange is a whole one, to the far side's error and back.
func TestModernExchange(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	reply := w.sends(w.modernCall("1"))
	p.answer(p.next(), codec.AppendError(nil, []byte(`{"code":-32601,"message":"no"}`)))
	reply.wait(404).fails(404, -32601, "1", "no")
	reply = w.sends(w.modernCall("1"))
	p.answer(p.next(), codec.AppendError(nil, []byte(`{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}`)))
	reply.wait(400).fails(400, -32021, "1", "no").data(`{"requiredCapabilities":{"sampling":{}}}`)
	// What is asked further passes both ways untouched.
	again := `"name":"t","inputResponses":{"k":{"action":"accept"}},"requestState":"s\u002f"`
	reply = w.sends(w.modern("2", "tools/call", again, with("Mcp-Name", "t")))
	a := p.next()
	if !strings.HasSuffix(string(a.payload), again+"}") {
		t.Errorf("the server heard %s", a.payload)
	}
	p.result(a, `{"resultType":"input_required","requestState":"s2"}`)
	reply.wait(200).is(200, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"s2",`+ourMeta+`}}`)
}

// TestClosedConnectionCancelsAModernRequest, which nothing else does.
func TestClosedConnectionCancelsAModernRequest(t *testing.T) {
	w := newWorld(t)
	p := w.provide("c1")
	reply := w.sends(w.modernCall("1"))
	closed := make(unserved)
	p.open(p.next(), closed)
	reply.leave()
	<-closed
	w.observed.await(t, "exchange call-tool cancelled", 1)
}
