package codec

import (
	"errors"
	"testing"
)

func TestD2_MessageShowsWhatParamsName(t *testing.T) {
	f := func(params, meta, name, uri string) {
		t.Helper()
		for _, id := range []string{`"id":1,`, ``} {
			m, err := ParseMessage([]byte(`{"jsonrpc":"2.0",` + id + `"method":"m","params":` + params + `}`))
			if err != nil || string(m.Meta) != meta || string(m.Name) != name || string(m.URI) != uri {
				t.Errorf("%s: %q %q %q, %v", params, m.Meta, m.Name, m.URI, err)
			}
			for _, v := range [][]byte{m.Meta, m.Name, m.URI} {
				if cap(v) != len(v) || (v == nil) != (len(v) == 0) {
					t.Errorf("%s: %q has room for %d bytes more", params, v, cap(v)-len(v))
				}
			}
		}
	}
	f(`{}`, "", "", "")
	f(`null`, "", "", "")
	f(`["_meta","name"]`, "", "", "")
	f(`{"_meta":{ "a":1.0} ,"name":"\u0061","uri":"file:\/\/"}`, `{ "a":1.0}`, `"\u0061"`, `"file:\/\/"`)
	f(`{"x":{"name":1,"_meta":2,"uri":3},"n\u0061me":null,"_m\u0065ta":[1],"\u0075ri":1e3}`, `[1]`, `null`, `1e3`)

	m, err := ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"result":{},"params":{"name":"a","_meta":{}}}`))
	if err != nil || m.Name != nil || m.Meta != nil {
		t.Errorf("a response: %+v, %v", m, err)
	}
}

func TestMetaIsReadHoweverItIsSpelled(t *testing.T) {
	f := func(raw string, want Meta) {
		t.Helper()
		var in []byte
		if raw != "" {
			in = []byte(raw)
		}
		got, err := ParseMeta(in)
		same := func(a, b []byte) bool { return string(a) == string(b) && (a == nil) == (b == nil) && cap(a) == len(a) }
		if err != nil || !same(got.ProgressToken, want.ProgressToken) || !same(got.ProtocolVersion, want.ProtocolVersion) ||
			!same(got.ClientInfo, want.ClientInfo) || !same(got.ClientCapabilities, want.ClientCapabilities) || !same(got.LogLevel, want.LogLevel) {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
	v := func(s string) []byte { return []byte(s) }
	f(``, Meta{})
	f(`{}`, Meta{})
	f(`{"progressToken":"\u0031","x":1,"x":2}`, Meta{ProgressToken: v(`"\u0031"`)})
	f(`{"protocolVersion":1,"IO.modelcontextprotocol/logLevel":2,"io.modelcontextprotocol/loglevel":3}`, Meta{})
	f(` { "io.modelcontextprotocol\/protocolVersion" : "2026-07-28", "io.modelcontextprotocol/clientInf\u006f":{"name":"a"},
		"io.modelcontextprotocol/clientCapabilities":null,"io.modelcontextprotocol/logLevel":5,"progressToken":1.0} `,
		Meta{v(`1.0`), v(`"2026-07-28"`), v(`{"name":"a"}`), v(`null`), v(`5`)})
}

func TestMetaRefused(t *testing.T) {
	for _, raw := range []string{`null`, `[]`, `1`, `"x"`, `{"progressToken":1,"progressToken":1}`, `{"progressToken":1,"progress\u0054oken":2}`,
		`{"io.modelcontextprotocol/logLevel":1,"a":1,"io.modelcontextprotocol\/logLevel":1}`} {
		if m, err := ParseMeta([]byte(raw)); err == nil || m.ProgressToken != nil || errors.As(err, new(*SyntaxError)) {
			t.Errorf("%s: %+v, %v", raw, m, err)
		}
	}
	for _, raw := range badJSON {
		if _, err := ParseMeta([]byte(raw)); !errors.As(err, new(*SyntaxError)) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestProgressTokens(t *testing.T) {
	for _, token := range []string{`""`, `"a"`, `0`, `-1`, `9007199254740993`, `1.5`, `1e2`} {
		if !IsProgressToken([]byte(token)) {
			t.Errorf("%s refused", token)
		}
	}
	for _, token := range []string{``, `null`, `true`, `false`, `{}`, `[]`, `[1]`} {
		if IsProgressToken([]byte(token)) {
			t.Errorf("%s accepted", token)
		}
	}
}
