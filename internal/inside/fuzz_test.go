package inside

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// FuzzPost gives any body to a session's POST: there is no panic, the response
// has a status of the sheet, and its body, where it has one, is one JSON-RPC
// message that carries the request's id byte for byte.
func FuzzPost(f *testing.F) {
	for _, seed := range []string{
		initializeBody, pingBody, callBody, cancelBody(`1`), `[` + pingBody + `]`, `[]`, `{}`, `{`, ``, `null`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list","params":null}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"resources\/templates\/list","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":[]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernKey + `}}`,
		`[{"jsonrpc":"2.0","method":"notifications/x","params":{` + modernKey + `}}]`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"x\"}",
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f)
	w.mux.Stop() // asks are settled at once
	token, _ := w.faces.mint(defaultContainer, newest)
	client := w.offline()
	f.Fuzz(func(t *testing.T, body []byte) {
		x := client.request([]byte(postHead("/mcp", token, fmt.Sprintf("Content-Length: %d", len(body)))), string(body))
		defer x.release()
		w.handler.serve(x)

		answer, status := x.response.Body(), x.response.StatusCode()
		switch status {
		case 202:
			if len(answer) != 0 {
				t.Fatalf("202 with a body: %q", answer)
			}
			return
		case 200, 400:
		default:
			t.Fatalf("status %d: %s", status, answer)
		}
		if err := codec.CheckJSON(answer); err != nil {
			t.Fatalf("the response is no JSON: %v\n%s", err, answer)
		}
		response, err := codec.ParseMessage(answer)
		if err != nil || response.Form != codec.FormResponse {
			t.Fatalf("the response is no response: %v\n%s", err, answer)
		}
		request, err := codec.ParseMessage(body)
		if err == nil && !bytes.Equal(request.ID, response.ID) {
			t.Fatalf("id %q came back as %q", request.ID, response.ID)
		}
		if meta, _ := metaOf(&request); meta.ProtocolVersion == nil && (err == nil) != (status == 200) {
			t.Fatalf("status %d for a body with error %v", status, err)
		}
	})
}

// FuzzModernPost gives any params and any Mcp-Name to a modern request: there is
// no panic, and the response is one JSON-RPC message with the request's id, on a
// status that its code allows.
func FuzzModernPost(f *testing.F) {
	for _, method := range []string{"tools/list", "tools/call", "resources/read", "server/discover", "ping", "initialize"} {
		f.Add(method, `,"name":"t","uri":"u"`, "t")
		f.Add(method, `,"name":"\u0074","x":1`, "=?base64?dA==?=")
	}
	f.Add("subscriptions/listen", `,"notifications":{}`, "")
	f.Add("tools/call", `,"_meta":{}`, "=?base64??=")
	w := newWorld(f)
	w.mux.Stop() // asks are settled at once
	client := w.offline()
	f.Fuzz(func(t *testing.T, method, members, name string) {
		body := `{"jsonrpc":"2.0","id":"\u0069","method":` + string(quoted([]byte(method))) + `,"params":{` + modernKey + members + `}}`
		request, err := codec.ParseMessage([]byte(body))
		if err != nil || strings.ContainsFunc(method+name, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Skip("no request that a client could send: not JSON, or no header's text")
		}
		head := postHead("/mcp", "", "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method, "Mcp-Name: "+name, fmt.Sprintf("Content-Length: %d", len(body)))
		if len(head) > maxHeader {
			t.Skip("refused by its head: nothing of it is parsed")
		}
		x := client.request([]byte(head), body)
		defer x.release()
		w.handler.serve(x)
		if x.listens != nil {
			x.listens.container.Exit()
			return
		}
		answer, status := x.response.Body(), x.response.StatusCode()
		if bytes.HasPrefix(answer, []byte("event: ")) {
			return
		}
		response, err := codec.ParseMessage(answer)
		if err != nil || response.Form != codec.FormResponse || !bytes.Equal(response.ID, request.ID) {
			t.Fatalf("%v: %s", err, answer)
		}
		code := int32(0)
		if response.Error != nil {
			e, err := codec.ParseError(response.Error)
			if err != nil {
				t.Fatal(err)
			}
			code = e.Code
		}
		switch want := map[int32][]int{0: {200}, -32601: {404}, -32020: {400}, -32602: {200, 400}, -32603: {200}}[code]; {
		case !slices.Contains(want, status):
			t.Fatalf("status %d with code %d: %s", status, code, answer)
		}
	})
}
