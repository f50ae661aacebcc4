package codec

import (
	"errors"
	"strings"
	"testing"
)

// asLegacy is a result as a client of a revision with sessions gets it.
func asLegacy(t *testing.T, k Kind, result, want string) {
	t.Helper()
	got, err := legacyResult([]byte(result), k)
	if err != nil || string(got) != want {
		t.Errorf("%v %s: %s, %v\nwant %s", k, result, got, err, want)
	}
}

func TestALegacyClientGetsTheSameBytes(t *testing.T) {
	for k := range kindEnd {
		for _, result := range []string{
			`{}`, ` { "x" : 1.0 , "x":2 } `, `{"resultType":"complete","ttlMs":0,"cacheScope":"public","_meta":{},"_meta":{}}`, `{"resultType":null}`, `{"resultType":"task"}`,
			`{"content":[ {"structuredContent":[1]} ]}`, `{"structuredContent":{"a":"\ud800"},"content":[]}`, `{"content":"x","structuredContent":{}}`,
			`{"tools":[{"name":"a","outputSchema":{ "type" : "\u006fbject" }},{"inputSchema":{"type":"array","outputSchema":1}},5,null,[{"outputSchema":1}],"outputSchema"]}`,
			`{"tools":{"outputSchema":1},"outputSchema":5,"x":[{"outputSchema":5}]}`, `{"x":"\\","y":"\"","z":"\\\"resultType\":{"}`,
		} {
			asLegacy(t, k, result, result)
		}
	}
	asLegacy(t, ListTools, `{"structuredContent":5}`, `{"structuredContent":5}`)
	asLegacy(t, CallTool, `{"tools":[{"outputSchema":5}]}`, `{"tools":[{"outputSchema":5}]}`)
}

func TestStructuredContentOfALegacyClientIsAnObject(t *testing.T) {
	for _, s := range []string{`[ {"a":1} ]`, `"\u0061"`, `1.0`, `null`, `true`} {
		text := `"content":[{"type":"text","text":` + quoted(s) + `}]`
		asLegacy(t, CallTool, `{"structuredContent":`+s+`}`, `{`+text+`}`)
		asLegacy(t, CallTool, `{"a":1 , "structuredContent" : `+s+` }`, `{"a":1 , `+text+` }`)
		asLegacy(t, CallTool, `{"structured\u0043ontent":`+s+` , "a":1}`, `{`+text+` , "a":1}`)
		asLegacy(t, CallTool, `{"content": null , "structuredContent":`+s+`}`, `{"content": `+text[len(`"content":`):]+`}`)
		asLegacy(t, CallTool, `{ "structuredContent":`+s+` , "content": null}`, `{ "content": `+text[len(`"content":`):]+`}`)
		asLegacy(t, CallTool, `{ "content":[] , "structuredContent":`+s+` , "a":1 }`, `{ "content":[] , "a":1 }`)
		asLegacy(t, CallTool, `{ "structuredContent" : `+s+`, "content":[] }`, `{ "content":[] }`)
	}
	text := `"content":[{"type":"text","text":"{ \"a\":1 }"}]`
	asLegacy(t, CallTool, `{"structuredContent":{ "a":1 } }`, `{"structuredContent":{ "a":1 },`+text+` }`)
	asLegacy(t, CallTool, `{"content":null,"structuredContent":{ "a":1 } }`, `{`+text+`,"structuredContent":{ "a":1 } }`)
}

func TestOutputSchemasOfALegacyClientAreOfObjects(t *testing.T) {
	for _, schema := range []string{
		`{}`, `{"type":"array"}`, `{"type":["object"]}`, `{"type":"Object"}`, `{"type":"object","type":"object"}`, `{"x":{"type":"object"}}`, `true`, `null`, `[{"type":"object"}]`, `"object"`,
		`{"anyOf":[{"type":"object"}]}`,
	} {
		asLegacy(t, ListTools, `{"tools":[{"outputSchema":`+schema+`}]}`, `{"tools":[{}]}`)
		asLegacy(t, ListTools, `{"tools":[ { "name" : "a" , "outputSchema":`+schema+` } , {"output\u0053chema":`+schema+` ,"name":"b"}],"nextCursor":"c"}`,
			`{"tools":[ { "name" : "a" } , {"name":"b"}],"nextCursor":"c"}`)
	}
	asLegacy(t, ListTools, `{"x":1,"t\u006fols":[{"outputSchema":1,"outputSchema":2,"a":{"outputSchema":1},"outputSchema":3,"b":1,"outputSchema":{"a":1,"type":"object"},"c":1,"outputSchema":5},{"outputSchema":{"type":"object"}}]}`,
		`{"x":1,"t\u006fols":[{"a":{"outputSchema":1},"b":1,"outputSchema":{"a":1,"type":"object"},"c":1},{"outputSchema":{"type":"object"}}]}`)
	many := strings.Repeat(`{"name":"a","outputSchema":{"type":"string"}},`, 10_000)
	asLegacy(t, ListTools, `{"tools":[`+many+`5]}`, `{"tools":[`+strings.ReplaceAll(many, `,"outputSchema":{"type":"string"}`, "")+`5]}`)
}

func TestALegacyClientIsNotAskedForInput(t *testing.T) {
	for k := range kindEnd {
		for _, result := range []string{`{"resultType":"input_required"}`, `{"x":1, "r\u0065sultType" : "input\u005frequired","tools":[{"outputSchema":1}],"structuredContent":1}`} {
			if got, err := legacyResult([]byte(result), k); !errors.Is(err, ErrInputRequired) {
				t.Errorf("%v %s: %q, %v", k, result, got, err)
			}
		}
	}
	for _, result := range []string{`[]`, `{"resultType":5}`, `{"resultType":"a","resultType":"input_required"}`, `{"tools":[{"outputSchema":1}`, `{"tools":[{"outputSchema":`} {
		if got, err := legacyResult([]byte(result), ListTools); err == nil || errors.Is(err, ErrInputRequired) {
			t.Errorf("%s: %q, %v", result, got, err)
		}
	}
	if got, err := legacyResult([]byte(`{"content":[],"content":[]}`), CallTool); err == nil {
		t.Errorf("content is there twice: %q", got)
	}
}
