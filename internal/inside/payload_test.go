package inside

import (
	"strings"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// stateless is what the _meta of the stateless revision has to have.
const stateless = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// TestR4_TheFarSideIsToldOfItsOwnRevision asks a far side of each era for clients
// of each.
func TestR4_TheFarSideIsToldOfItsOwnRevision(t *testing.T) {
	const token = "123456"
	for _, c := range []struct {
		era            era
		kind           codec.Kind
		params         string // "": none
		toOld, toNewer string
	}{
		{legacy, codec.ListTools, ``, `null`, `{"_meta":{` + stateless + `}}`},
		{legacy, codec.ListTools, `null`, `null`, `{"_meta":{` + stateless + `}}`},
		{legacy, codec.ListTools, `{}`, `{}`, `{"_meta":{` + stateless + `}}`},
		{legacy, codec.ListTools, ` { "cursor":"x" } `, `{ "cursor":"x" }`, `{ "cursor":"x","_meta":{` + stateless + `} }`},
		{legacy, codec.CallTool, `{"name":"t"}`, `{"name":"t"}`, `{"name":"t","_meta":{` + stateless + `}}`},
		{legacy, codec.CallTool, `{"_meta":null,"name":"t"}`, `{"_meta":null,"name":"t"}`, `{"_meta":{` + stateless + `},"name":"t"}`},
		{legacy, codec.CallTool, `{"_meta":{"traceparent":"x"},"name":"t"}`, `{"_meta":{"traceparent":"x"},"name":"t"}`,
			`{"_meta":{"traceparent":"x",` + stateless + `},"name":"t"}`},
		{legacy, codec.CallTool, `{"name":"t","_meta":{"progressToken":5,"x":[1.0]}}`, `{"name":"t","_meta":{"progressToken":123456,"x":[1.0]}}`,
			`{"name":"t","_meta":{"progressToken":123456,"x":[1.0],` + stateless + `}}`},
		{legacy, codec.CallTool, `{"name":"t","_meta":{"progressToken":null}}`, `{"name":"t","_meta":{"progressToken":null}}`,
			`{"name":"t","_meta":{"progressToken":null,` + stateless + `}}`},
		{legacy, codec.CallTool, `{"name":"t","_meta":{"io.modelcontextprotocol/logLevel":"debug"}}`, `{"name":"t"}`,
			`{"name":"t","_meta":{` + stateless + `}}`},
		{legacy, codec.CallTool, `{"name":"t","_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"x":1}}`, `{"name":"t","_meta":{"x":1}}`,
			`{"name":"t","_meta":{"x":1,` + stateless + `}}`},
		{modern, codec.ListTools, `{"_meta":{` + stateless + `}}`, `{}`, `{"_meta":{` + stateless + `}}`},
		{modern, codec.ReadResource, `{"_meta":{` + stateless + `,"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"}},"uri":"a:b"}`, `{"uri":"a:b"}`,
			`{"_meta":{` + stateless + `,"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"}},"uri":"a:b"}`},
		{modern, codec.CallTool, `{"name":"t","_meta":{"progressToken":"a",` + stateless + `,"io.modelcontextprotocol/logLevel":"debug","x":1}}`,
			`{"name":"t","_meta":{"progressToken":123456,"x":1}}`,
			`{"name":"t","_meta":{"progressToken":123456,` + stateless + `,"io.modelcontextprotocol/logLevel":"debug","x":1}}`},
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + c.kind.Method() + `"`
		if c.params != "" {
			body += `,"params":` + c.params
		}
		m, err := codec.ParseMessage([]byte(body + `}`))
		if err != nil {
			t.Fatal(err)
		}
		a := &asking{era: c.era, kind: c.kind, message: m}
		if a.meta, err = metaOf(&m); err != nil {
			t.Fatal(err)
		}
		var wire []byte
		if codec.IsProgressToken(a.meta.ProgressToken) {
			wire = []byte(token)
		}
		for farSide, want := range map[string]string{"": c.toOld, "2025-06-18": c.toOld, modernRevision: c.toNewer} {
			h := &Handler{cfg: Config{FarSide: farSide}}
			got, buffer, err := h.payload(a, wire)
			if err != nil || string(got) != want {
				t.Errorf("%s for a far side of %q: %s, %v\nwant %s", body, farSide, got, err, want)
			}
			if changed := want != strings.TrimSpace(c.params) && want != "null"; changed != (buffer != nil) {
				t.Errorf("%s for a far side of %q: copied %v", body, farSide, buffer != nil)
			}
			if buffer != nil {
				buffer.Release()
			}
		}
	}
}

// TestFarSideThatIsNoRevision is refused, and told which there are.
func TestFarSideThatIsNoRevision(t *testing.T) {
	w := newWorld(t)
	cfg := w.handler.cfg
	cfg.FarSide = "2027-01-01"
	_, err := New(cfg)
	if err == nil || !strings.Contains(err.Error(), "2024-11-05") || !strings.Contains(err.Error(), modernRevision) {
		t.Errorf("got %v", err)
	}
	for _, revision := range FarSides() {
		if err := checkFarSide(revision); err != nil {
			t.Error(err)
		}
	}
}

// TestFarSideOfTheStatelessRevisionIsTold goes all the way, alone and in a batch.
func TestFarSideOfTheStatelessRevisionIsTold(t *testing.T) {
	w := newWorld(t, func(o *options) { o.farSide = modernRevision })
	s, p := w.connectOld("c1"), w.provide("c1")
	for _, send := range []func(string) string{
		func(m string) string { return m }, func(m string) string { return batchOf(m) },
	} {
		reply := s.start(send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		a := p.next()
		if want := `{"_meta":{` + stateless + `}}`; string(a.payload) != want {
			t.Errorf("the server heard %s, want %s", a.payload, want)
		}
		p.result(a, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`)
		reply.wait(200)
	}
}
