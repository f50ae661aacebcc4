package codec

import (
	"strings"
	"testing"
)

// asParsed returns params and their _meta as they come from a client.
func asParsed(t *testing.T, params string) (raw, meta []byte) {
	t.Helper()
	m, err := ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params": ` + params + ` }`))
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return m.Params, m.Meta
}

// spell puts the long names in the place of short ones.
var spell = strings.NewReplacer(`%V`, `"`+MetaProtocolVersion+`"`, `%I`, `"`+MetaClientInfo+`"`, `%C`, `"`+MetaClientCapabilities+`"`,
	`%L`, `"`+MetaLogLevel+`"`, `%S`, `"`+MetaServerInfo+`"`, `%N`, `"`+MetaSubscriptionID+`"`).Replace

func edited(t *testing.T, params string, edit MetaEdit, want string) {
	t.Helper()
	raw, meta := asParsed(t, spell(params))
	got, err := AppendParams([]byte("x"), raw, meta, edit)
	if err != nil || string(got) != "x"+spell(want) {
		t.Errorf("%s: %s, %v\nwant %s", params, got, err, want)
	}
}

func TestParamsStayWhenNothingIsEdited(t *testing.T) {
	for _, params := range []string{`null`, `[]`, `[{"_meta":1}]`, `{}`, `{ "a" : 1.0 , "a":2 }`, `{"_meta":5}`, `{"_meta":null}`, `{"_meta":{ }}`,
		`{"x":{"_meta":{%V:1}},"_meta":{"a":{%V:1},"progress":1} }`} {
		edited(t, params, MetaEdit{}, params)
		edited(t, params, MetaEdit{ProgressToken: []byte("1"), DropModern: true}, params)
	}
	if got, err := AppendParams(nil, nil, nil, MetaEdit{DropModern: true}); err != nil || got != nil {
		t.Errorf("no params became %q, %v", got, err)
	}
}

func TestTheProgressTokenIsReplacedAlone(t *testing.T) {
	edit := MetaEdit{ProgressToken: []byte("77")}
	edited(t, `{"_meta":{"progressToken":"a\u0062"}}`, edit, `{"_meta":{"progressToken":77}}`)
	edited(t, `{ "a":{"progressToken":1} , "_m\u0065ta" : { %V:1 ,"progress\u0054oken" : 1e5 , "x":{"progressToken":1}} ,"b":[ ] }`, edit,
		`{ "a":{"progressToken":1} , "_m\u0065ta" : { %V:1 ,"progress\u0054oken" : 77 , "x":{"progressToken":1}} ,"b":[ ] }`)
	edited(t, `{"_meta":{"progressToken":null}}`, edit, `{"_meta":{"progressToken":77}}`)
}

func TestModernMembersAreDropped(t *testing.T) {
	edit := MetaEdit{DropModern: true}
	edited(t, `{"_meta":{%V:"2026-07-28",%I:{},%C:{},%L:"info"}}`, edit, `{}`)
	edited(t, `{ "_meta" : { %V:1 } }`, edit, `{  }`)
	edited(t, `{"a":1 , "_meta" : {%V:1}}`, edit, `{"a":1 }`)
	edited(t, `{"_meta":{%V:1} , "b":1}`, edit, `{"b":1}`)
	edited(t, `{"a":1, "_m\u0065ta" : {"io.modelcontextprotocol\/logLevel":1} , "b":1}`, edit, `{"a":1 , "b":1}`)
	edited(t, `{"a":{},"_meta":{%V:1},"b":1}`, edit, `{"a":{},"b":1}`)
	edited(t, `{"_meta":{"progressToken":1,%V:1}}`, edit, `{"_meta":{"progressToken":1}}`)
	edited(t, `{"_meta":{ %V:1 , %I:2, "a":1 , %C:3 ,"a":2, %L:4 , "b":{%V:1} }}`, edit, `{"_meta":{ "a":1 ,"a":2 , "b":{%V:1} }}`)
	edited(t, `{"_meta":{%S:1,%N:2,"traceparent":"x",%V:5}}`, edit, `{"_meta":{%S:1,%N:2,"traceparent":"x"}}`)
	// Where other values look like the _meta.
	edited(t, `{"a":{%V:1},"_meta":{%V:1},"c":{%V:1}}`, edit, `{"a":{%V:1},"c":{%V:1}}`)
	edited(t, `{":":1,"_meta":{%V:1}}`, edit, `{":":1}`)
}

func TestMembersAreAdded(t *testing.T) {
	edit := MetaEdit{Add: []byte(spell(`"a":1,%C:{}`))}
	edited(t, `null`, edit, `{"_meta":{"a":1,%C:{}}}`)
	edited(t, `{}`, edit, `{"_meta":{"a":1,%C:{}}}`)
	edited(t, "{ \n}", edit, "{\"_meta\":{\"a\":1,%C:{}} \n}")
	edited(t, `{"x":{} }`, edit, `{"x":{},"_meta":{"a":1,%C:{}} }`)
	edited(t, `{"x":"}"}`, edit, `{"x":"}","_meta":{"a":1,%C:{}}}`)
	edited(t, `{"_meta":null,"x":null}`, edit, `{"_meta":{"a":1,%C:{}},"x":null}`)
	edited(t, `{"x":null,"_meta" :null}`, edit, `{"x":null,"_meta" :{"a":1,%C:{}}}`)
	edited(t, `{"_meta":{ }}`, edit, `{"_meta":{"a":1,%C:{} }}`)
	edited(t, `{"_meta":{"b":1 }}`, edit, `{"_meta":{"b":1,"a":1,%C:{} }}`)
	edited(t, `{"_meta":{"\u0061":null,"b":{%C:1}}}`, edit, `{"_meta":{"\u0061":null,"b":{%C:1},%C:{}}}`)
	edited(t, `{"_meta":{%C:{"sampling":{}},"a":2}}`, edit, `{"_meta":{%C:{"sampling":{}},"a":2}}`)

	all := MetaEdit{ProgressToken: []byte(`"t"`), DropModern: true, Add: edit.Add}
	edited(t, `{"_meta":{%C:{"sampling":{}},%L:1}}`, all, `{"_meta":{"a":1,%C:{}}}`)
	edited(t, `{"_meta":{%C:{"sampling":{}},"progressToken":5,%L:1}}`, all, `{"_meta":{"progressToken":"t","a":1,%C:{}}}`)
}

func TestAnEditThatCannotBeIsRefused(t *testing.T) {
	f := func(params string, edit MetaEdit) {
		t.Helper()
		raw, meta := asParsed(t, spell(params))
		dst := append(make([]byte, 0, 1024), "x"...)
		if got, err := AppendParams(dst, raw, meta, edit); err == nil || string(got) != "x" {
			t.Errorf("%s: %q, %v", params, got, err)
		}
	}
	add := MetaEdit{Add: []byte(`"a":1`)}
	f(`[]`, add)
	f(`{"_meta":5}`, add)
	f(`{"_meta":"null"}`, add)
	for _, edit := range []MetaEdit{add, {DropModern: true}, {ProgressToken: []byte("1")}} {
		f(`{"_meta":{"progressToken":1,"progress\u0054oken":2}}`, edit)
		f(`{"_meta":{%V:1,%V:1}}`, edit)
	}

	raw, _ := asParsed(t, `{"_meta":{"a":1}}`)
	for _, meta := range []string{`{"a":1}`, `{"a":2}`} {
		if got, err := AppendParams(nil, raw, []byte(meta), add); err == nil {
			t.Errorf("a _meta from elsewhere: %q", got)
		}
	}
}

// A client may make what looks like its _meta appear many times before that.
func TestLargeParamsCostLittle(t *testing.T) {
	raw, meta := asParsed(t, spell(`{"a":[`+strings.Repeat(`{%V:1},`, 50_000)+`{}],"_meta":{%V:1}}`))
	got, err := AppendParams(nil, raw, meta, MetaEdit{DropModern: true})
	if want := len(raw) - len(spell(`,"_meta":{%V:1}`)); err != nil || len(got) != want {
		t.Errorf("%d bytes, want %d, %v", len(got), want, err)
	}
	many := strings.Repeat(`"n":1,`, 100_000)
	raw, meta = asParsed(t, `{"_meta":{`+many+`"progressToken":1}}`)
	got, err = AppendParams(nil, raw, meta, MetaEdit{ProgressToken: []byte("22"), DropModern: true, Add: []byte(`"n":2,"m":3`)})
	if err != nil || string(got) != `{"_meta":{`+many+`"progressToken":22,"m":3}}` {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
