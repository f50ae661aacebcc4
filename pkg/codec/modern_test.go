package codec

import (
	"strconv"
	"strings"
	"testing"
)

func TestAResultsShape(t *testing.T) {
	f := func(result string, complete, inputRequired bool, want ...string) {
		t.Helper()
		a, err := decodedResult([]byte(result), CallTool)
		if err != nil || a.shape.complete != complete || a.shape.inputRequired != inputRequired {
			t.Errorf("%s: %+v, %v", result, a.shape, err)
		}
		want = append(want, make([]string, resultMembers)...)
		for i, at := range a.shape.members {
			if got := at.of(a.Body); string(got) != want[i] || cap(got) != len(got) || (got == nil) != (want[i] == "") {
				t.Errorf("%s: %s is %q, want %q", result, memberNames[i], got, want[i])
			}
		}
	}
	f(`{}`, true, false)
	f(`{"resultType":null}`, true, false, `null`)
	f(`{"resultType":"c\u006fmplete"}`, true, false, `"c\u006fmplete"`)
	f(`{"result\u0054ype":"input_required"}`, false, true, `"input_required"`)
	f(`{"resultType":"task"}`, false, false, `"task"`)
	f(` { "content" : [ {"_meta":1,"x":"\\\"}"} ] ,"structuredContent":-1.0, "_meta":{ },"x":[[{}],1,"]"],"cacheScope":"public" ,"ttlMs":5 , "resultType":"complete"} `,
		true, false, `"complete"`, `[ {"_meta":1,"x":"\\\"}"} ]`, `-1.0`, `5`, `"public"`, `{ }`)
}

func TestAResultRefused(t *testing.T) {
	for _, result := range []string{
		``, ` `, `null`, `[]`, `"x"`, `5`, `{`, `{"a`, `{"a":`, `{"a":[}`, `{"\u12":1}`, `{"\`, `{"a":1`, `{1:2}`, `{"a" 1}`, `{"a":"\"}`,
		`{"resultType":1}`, `{"resultType":["complete"]}`,
		`{"resultType":"complete","resultType":"complete"}`, `{"content":[],"c\u006fntent":[]}`, `{"_meta":{},"_meta":1}`,
	} {
		for k := range kindEnd {
			if got, err := modernResult([]byte(result), k, []byte(`{}`)); err == nil {
				t.Errorf("%v %s: %q", k, result, got)
			}
		}
	}
}

// asModern is a result as a client of the stateless revision gets it.
func asModern(t *testing.T, k Kind, result, info, want string) {
	t.Helper()
	var serverInfo []byte
	if info != "" {
		serverInfo = []byte(info)
	}
	got, err := modernResult([]byte(spell(result)), k, serverInfo)
	if err != nil || string(got) != spell(want) {
		t.Errorf("%v %s: %s, %v\nwant %s", k, result, got, err, want)
	}
}

func TestAModernClientGetsAllMembers(t *testing.T) {
	for _, k := range []Kind{ListTools, ListResources, ReadResource} {
		asModern(t, k, `{ }`, ``, `{"resultType":"complete","ttlMs":0,"cacheScope":"private" }`)
		asModern(t, k, ` {"tools":[ ] , "x":1.0,"x":2} `, `{"a":1}`,
			` {"tools":[ ] , "x":1.0,"x":2,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{%S:{"a":1}}} `)
		asModern(t, k, `{"ttlMs":null,"resultType": null ,"cacheScope":null,"_meta":null}`, `1`,
			`{"ttlMs":0,"resultType": "complete" ,"cacheScope":"private","_meta":{%S:1}}`)
		asModern(t, k, `{"cacheScope":"public","resultType":"complete","tools":[]}`, ``, `{"cacheScope":"public","resultType":"complete","tools":[],"ttlMs":0}`)
		asModern(t, k, `{"structuredContent":1}`, ``, `{"structuredContent":1,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
	}
	asModern(t, CallTool, `{"content":[]}`, ``, `{"content":[],"resultType":"complete"}`)
	asModern(t, CallTool, `{"resultType":"complete","content":[],"_meta":{%S:null}}`, `{}`, `{"resultType":"complete","content":[],"_meta":{%S:null}}`)
	asModern(t, CallTool, `{"_meta":{ },"content":[]}`, `{}`, `{"_meta":{ %S:{}},"content":[],"resultType":"complete"}`)
	asModern(t, CallTool, `{"content":[],"_meta":{"a":{%S:1} }}`, `{}`, `{"content":[],"_meta":{"a":{%S:1} ,%S:{}},"resultType":"complete"}`)
	asModern(t, CallTool, `{"content":[],"_meta":{"io.modelcontextprotocol\/serverInf\u006f":1}}`, `{}`, `{"content":[],"_meta":{"io.modelcontextprotocol\/serverInf\u006f":1},"resultType":"complete"}`)
	asModern(t, CallTool, `{"content":[],"_meta":5}`, `{}`, `{"content":[],"_meta":5,"resultType":"complete"}`)
}

func TestAnIncompleteResultIsNotCached(t *testing.T) {
	for _, resultType := range []string{"input_required", "task", ""} {
		for k := range kindEnd {
			asModern(t, k, `{"structuredContent":1,"resultType":"`+resultType+`"}`, ``, `{"structuredContent":1,"resultType":"`+resultType+`"}`)
			asModern(t, k, `{"resultType":"`+resultType+`","_meta":{}}`, `{}`, `{"resultType":"`+resultType+`","_meta":{%S:{}}}`)
		}
	}
}

func TestStructuredContentIsSaidAsText(t *testing.T) {
	structured := "{ \"a\":\"\\\"\\\\ \\ud800 \u00e9\",\n\"b\":1.0 }"
	text := `[{"type":"text","text":` + quoted(structured) + `}]`
	asModern(t, CallTool, `{"structuredContent":`+structured+`}`, ``, `{"structuredContent":`+structured+`,"resultType":"complete","content":`+text+`}`)
	asModern(t, CallTool, `{"content": null ,"structuredContent":`+structured+`}`, ``, `{"content": `+text+` ,"structuredContent":`+structured+`,"resultType":"complete"}`)
	asModern(t, CallTool, `{"content":[],"structuredContent":5}`, ``, `{"content":[],"structuredContent":5,"resultType":"complete"}`)
	asModern(t, CallTool, `{}`, ``, `{"resultType":"complete"}`)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`).Replace(s) + `"`
}

func TestErrorCodesOfAModernClient(t *testing.T) {
	f := func(code, want int32) {
		t.Helper()
		for _, form := range []string{`{"code":%,"message":"-32002"}`, ` { "data" : {"code":%,"x":1.0} , "c\u006fde": % ,"message":"\ud800" ,"new":1,"new":2} `} {
			in := strings.ReplaceAll(form, "%", strconv.Itoa(int(code)))
			out := strings.ReplaceAll(form, "e\": %", "e\": "+strconv.Itoa(int(want)))
			out = strings.Replace(out, `{"code":%,"m`, `{"code":`+strconv.Itoa(int(want))+`,"m`, 1)
			out = strings.ReplaceAll(out, "%", strconv.Itoa(int(code)))
			got, now, err := AppendModernError([]byte("x"), []byte(in))
			if err != nil || now != want || string(got) != "x"+out {
				t.Errorf("%s: %s, %d, %v\nwant %s", in, got, now, err, out)
			}
		}
	}
	for _, code := range []int32{0, 1, -1, -32000, -32001, -32003, -32019, -32020, -32021, -32022, -32100, -32600, -32601, -32602, -32603, -32700, 1<<31 - 1, -1 << 31} {
		f(code, code)
	}
	f(-32002, -32602)
	for _, code := range []int32{-32023, -32042, -32050, -32099} {
		f(code, -32603)
	}
	for _, body := range append([]string{`{}`, `{"code":"-32002","message":""}`, `{"code":-32002.0,"message":""}`, `{"code":-32002,"code":-32002,"message":""}`, `{"code":-32002}`}, badJSON...) {
		if got, _, err := AppendModernError([]byte("x"), []byte(body)); err == nil || string(got) != "x" {
			t.Errorf("%q: %q, %v", body, got, err)
		}
	}
}
