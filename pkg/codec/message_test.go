package codec

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var goodIDs = []string{
	`0`, `1`, `-1`, `-0`, `9007199254740993`, `-9007199254740993`, `123456789012345678901234567890123456789`,
	`""`, `"a"`, `"0"`, `"\u0061"`, `"\ud800"`, `"\/"`, `"😀"`,
}

var badIDs = []string{`null`, `true`, `false`, `1.0`, `1.5`, `-0.0`, `1e2`, `1E2`, `1e0`, `10e-1`, `[]`, `[1]`, `{}`}

func TestD2_IDsStayByteForByte(t *testing.T) {
	for _, id := range goodIDs {
		m, err := ParseMessage([]byte(`{"jsonrpc":"2.0","id": ` + id + ` ,"method":"ping"}`))
		if err != nil || m.Form != FormRequest || string(m.ID) != id {
			t.Errorf("id %s: %q, %v", id, m.ID, err)
			continue
		}
		if got, want := string(AppendResponse(nil, m.ID, []byte(`{}`))), `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`; got != want {
			t.Errorf("response %s, want %s", got, want)
		}
		if got, want := string(AppendErrorResponse(nil, m.ID, []byte(`{"code":1}`))), `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":1}}`; got != want {
			t.Errorf("error response %s, want %s", got, want)
		}
	}
	for _, id := range badIDs {
		_, err := ParseMessage([]byte(`{"jsonrpc":"2.0","method":"ping","id":` + id + `}`))
		if invalid, ok := errors.AsType[*InvalidError](err); !ok || invalid.ID != nil {
			t.Errorf("id %s: %v", id, err)
		}
	}
	if got, want := string(AppendErrorResponse([]byte("x"), nil, []byte(`{}`))), `x{"jsonrpc":"2.0","error":{}}`; got != want {
		t.Errorf("without an id %s, want %s", got, want)
	}
}

func TestD2_Messages(t *testing.T) {
	f := func(b string, want Message) {
		t.Helper()
		got, err := ParseMessage([]byte(b))
		same := func(a, b []byte) bool { return string(a) == string(b) && (a == nil) == (b == nil) }
		if err != nil || got.Form != want.Form || !same(got.ID, want.ID) || !same(got.Method, want.Method) || !same(got.Params, want.Params) ||
			!same(got.Result, want.Result) || !same(got.Error, want.Error) {
			t.Errorf("%s: %+v, %v", b, got, err)
		}
	}
	v := func(s string) []byte { return []byte(s) }
	f(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Message{ID: v("1"), Method: v("tools/list")})
	f(` { "params" : { "a":1.0 , "a":2, "_meta":{} } , "method":"m", "id":"x", "jsonrpc":"2.0" } `,
		Message{ID: v(`"x"`), Method: v("m"), Params: v(`{ "a":1.0 , "a":2, "_meta":{} }`)})
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, Message{ID: v("1"), Method: v("m"), Params: v("null")})
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, Message{ID: v("1"), Method: v("m"), Params: v("[]")})
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, Message{ID: v("1"), Method: v("m"), Params: v("{}")})
	f(`{"\u006asonrpc":"\u0032.0","\u0069d":1,"\u006dethod":"\u006d","\u0070arams":{}}`, Message{ID: v("1"), Method: v("m"), Params: v("{}")})
	f(`{"jsonrpc":"2.0","method":"","x":1}`, Message{Form: FormNotification, Method: v("")})
	f(`{"jsonrpc":"2.0","method":"m","params":{"a":[]}}`, Message{Form: FormNotification, Method: v("m"), Params: v(`{"a":[]}`)})
	f(`{"jsonrpc":"2.0","id":1,"result":null}`, Message{Form: FormResponse, ID: v("1"), Result: v("null")})
	f(`{"jsonrpc":"2.0","id":"","result": {"x":1} ,"params":5}`, Message{Form: FormResponse, ID: v(`""`), Result: v(`{"x":1}`)})
	f(`{"jsonrpc":"2.0","id":1,"error":{}}`, Message{Form: FormResponse, ID: v("1"), Error: v("{}")})
	f(`{"jsonrpc":"2.0","error":{"code":1}}`, Message{Form: FormResponse, Error: v(`{"code":1}`)})
}

func TestD2_MessagesRefused(t *testing.T) {
	f := func(b, id string) {
		t.Helper()
		_, err := ParseMessage([]byte(b))
		invalid, ok := errors.AsType[*InvalidError](err)
		if !ok || string(invalid.ID) != id || invalid.Reason == "" || invalid.Batch != strings.HasPrefix(b, "[") {
			t.Errorf("%s: %v (%+v)", b, err, invalid)
		}
		if b[0] == '[' && !strings.Contains(err.Error(), "batch") {
			t.Errorf("%s: %v does not say that it is a batch", b, err)
		}
	}
	for _, b := range []string{`null`, `1`, `"x"`, `true`, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{}`} {
		f(b, "")
	}
	f(`{"id":1,"method":"m"}`, "1")
	f(`{"jsonrpc":"1.0","id":1,"method":"m"}`, "1")
	f(`{"jsonrpc":2.0,"id":1,"method":"m"}`, "1")
	f(`{"jsonrpc":null,"method":"m"}`, "")
	f(`{"jsonrpc":"2.0","id":1}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":1}`, "1")
	f(`{"jsonrpc":"2.0","method":null,"id":1}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":1}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":false}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","error":{}}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"error":"x"}`, "1")
	f(`{"jsonrpc":"2.0","result":{}}`, "")
	f(`{"jsonrpc":"2.0","id":null,"error":{}}`, "")
	// Duplicate names, however spelled: in the envelope any, in params those that are read.
	f(`{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":1}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","\u006dethod":"n"}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, "")
	f(`{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}`, "")
	f(`{"jsonrpc":"2.0","id":1,"id":2,"id":3,"method":"m","a":1,"a":1}`, "")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","n\u0061me":"b"}}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{},"_meta":{}}}`, "1")
	f(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"uri":"a","uri":"a"}}`, "1")
	for _, name := range []string{"requestId", "progressToken", "protocolVersion"} {
		f(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"`+name+`":"a","`+name+`":"a"}}`, "1")
	}
}

func TestD2_MessageThatIsNotJSON(t *testing.T) {
	for _, s := range badJSON {
		for _, b := range []string{s, `{"jsonrpc":"1.0","id":1.5,"x":[` + s, `[[` + s} {
			if _, err := ParseMessage([]byte(b)); !errors.As(err, new(*SyntaxError)) {
				t.Errorf("%q: %v", b, err)
			}
		}
	}
}

func TestD2_LoneSurrogatesDoNotMakeNamesEqual(t *testing.T) {
	if _, err := ParseMessage([]byte(`{"jsonrpc":"2.0","method":"m","\ud800":1,"\ud801":1,"\ufffd":1}`)); err != nil {
		t.Error(err)
	}
	if _, err := ParseMessage([]byte(`{"jsonrpc":"2.0","method":"m","\ud800":1,"\uD800":1}`)); err == nil {
		t.Error("two spellings of one name are accepted")
	}
}

func TestD2_VeryManyMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":1,"method":"m"`)
	for i := range 200_000 {
		fmt.Fprintf(&b, `,"%d":0`, i)
	}
	if _, err := ParseMessage([]byte(b.String() + "}")); err != nil {
		t.Error(err)
	}
	if _, err := ParseMessage([]byte(b.String() + `,"method":""}`)); !errors.As(err, new(*InvalidError)) {
		t.Error(err)
	}
}

func TestD2_AFailureQuotesLittle(t *testing.T) {
	name := strings.Repeat("n", 1<<20)
	_, err := ParseMessage([]byte(`{"` + name + `":1,"` + name + `":1}`))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("the failure is %d bytes long", len(err.Error()))
	}
}

func TestViewsCannotBeAppendedInPlace(t *testing.T) {
	f := func(views ...[]byte) {
		t.Helper()
		for _, v := range views {
			if cap(v) != len(v) {
				t.Errorf("%q has room for %d bytes more", v, cap(v)-len(v))
			}
		}
	}
	m, err := ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{} } `))
	if err != nil {
		t.Error(err)
	}
	payload, err := CallTool.Payload([]byte(" {} "))
	if err != nil {
		t.Error(err)
	}
	f(m.ID, m.Method, m.Params, payload)
	n, err := ParseNotification([]byte(` {"method":"m","params":{"uri":"u"} } `))
	if err != nil {
		t.Error(err)
	}
	uri, _ := n.ResourceURI()
	f(n.Raw, n.Method, n.Params, uri)
	a, err := DecodeAnswer(CallTool, append(make([]byte, 0, 64), "\x00{\"content\":[]}"...))
	if err != nil {
		t.Error(err)
	}
	ask, err := DecodeAsk(append(make([]byte, 0, 64), "\x00\x00\x00\x00\x00{}"...))
	if err != nil {
		t.Error(err)
	}
	f(a.Body, ask.Payload)
}
