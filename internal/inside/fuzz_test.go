package inside

import (
	"bytes"
	"fmt"
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
		if (err == nil) != (status == 200) {
			t.Fatalf("status %d for a body with error %v", status, err)
		}
	})
}
