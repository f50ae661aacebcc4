package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestA3_GoldenAnswers(t *testing.T) {
	f := func(k Kind, tag Tag, body, golden string) {
		t.Helper()
		want := fromHex(t, golden)
		encode := AppendResult
		if tag == TagError {
			encode = AppendError
		}
		if got := encode(nil, []byte(body)); !bytes.Equal(got, want) {
			t.Errorf("frame %x, want %x", got, want)
		}
		if got, err := AppendValue(nil, tag, json.RawMessage(body)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("frame from a value %x, %v; want %x", got, err, want)
		}
		a, err := DecodeAnswer(k, want)
		if err != nil || a.Tag != tag || string(a.Body) != body {
			t.Errorf("DecodeAnswer(%x) = %v %q, %v", want, a.Tag, a.Body, err)
		}
	}
	f(ListTools, TagResult, `{"tools":[]}`, "007b22746f6f6c73223a5b5d7d")
	f(CallTool, TagError, `{"code":-32601,"message":"no"}`, "017b22636f6465223a2d33323630312c226d657373616765223a226e6f227d")
	f(Notifications, TagResult, `{"method":"notifications/tools/list_changed"}`,
		"007b226d6574686f64223a226e6f74696669636174696f6e732f746f6f6c732f6c6973745f6368616e676564227d")

	refused := Error{Code: -32601, Message: "no"}
	if got, want := refused.Append([]byte{1}), fromHex(t, "017b22636f6465223a2d33323630312c226d657373616765223a226e6f227d"); !bytes.Equal(got, want) {
		t.Errorf("error %x, want %x", got, want)
	}
}

func TestD1_ThreeFailuresAreDistinct(t *testing.T) {
	const (
		empty = 1 << iota
		unknownTag
		body
	)
	f := func(frame string, want int) {
		t.Helper()
		classify := func(err error) (got int) {
			if errors.Is(err, ErrEmpty) {
				got |= empty
			}
			if unknown, ok := errors.AsType[*UnknownTagError](err); ok {
				got |= unknownTag
				if frame == "" || unknown.Tag != Tag(frame[0]) {
					t.Errorf("%q: the failure carries tag %d", frame, unknown.Tag)
				}
			}
			if failure, ok := errors.AsType[*BodyError](err); ok {
				got |= body
				if failure.Err == nil || !errors.Is(err, failure.Err) {
					t.Errorf("%q: the cause is not wrapped", frame)
				}
			}
			return got
		}
		for k := range Kind(KindCount) {
			if _, err := DecodeAnswer(k, []byte(frame)); classify(err) != want {
				t.Errorf("%v %q: %v", k, frame, err)
			}
		}
		if _, _, err := DecodeNotification([]byte(frame)); classify(err) != want {
			t.Errorf("%q: %v", frame, err)
		}
	}
	f("", empty)
	for tag := 2; tag <= math.MaxUint8; tag++ {
		f(string([]byte{byte(tag)}), unknownTag)
		f(string([]byte{byte(tag), '{', '}'}), unknownTag)
	}
	for _, tag := range []string{"\x00", "\x01"} {
		f(tag, body)
		f(tag+"{}", body)
		f(tag+"[]", body)
		f(tag+"null", body)
		f(tag+"{", body)
		f(tag+"\xff", body)
		f(tag+tag+"{}", body)
	}
	if _, err := DecodeAnswer(Kind(KindCount), []byte("\x00{}")); !errors.As(err, new(*UnknownKindError)) {
		t.Errorf("a kind that is not served: %v", err)
	}
}

func TestD2_SyntaxIsTheCauseOfABodyFailure(t *testing.T) {
	for _, s := range badJSON {
		for _, tag := range []string{"\x00", "\x01"} {
			_, err := DecodeAnswer(ListTools, []byte(tag+s))
			if !errors.As(err, new(*BodyError)) || !errors.As(err, new(*SyntaxError)) {
				t.Errorf("%q: %v", tag+s, err)
			}
		}
	}
}

func TestD2_Results(t *testing.T) {
	f := func(k Kind, body string) {
		t.Helper()
		a, err := DecodeAnswer(k, append([]byte{0}, body...))
		if err != nil || a.Tag != TagResult || string(a.Body) != body {
			t.Errorf("%v %s: %q, %v", k, body, a.Body, err)
		}
	}
	f(ListTools, `{"tools":[]}`)
	f(ListTools, ` { "nextCursor" : "x", "tools" : [ {"name":"t", "x":1.0, "x":2} ] } `)
	f(ListTools, `{"\u0074ools":[]}`)
	f(ListResources, `{"resources":[null]}`)
	f(ReadResource, `{"contents":[]}`)
	f(CallTool, `{"content":[]}`)
	f(CallTool, `{"structuredContent":{}}`)
	f(CallTool, `{"structuredContent":null}`)
	f(CallTool, `{"structuredContent":[1]}`)
	f(CallTool, `{"content":null,"structuredContent":1}`)
	f(CallTool, `{"content":[{"type":"text","text":"\ud800"}],"isError":true}`)
	// A resultType other than "complete" frees from the array; null counts as absent.
	f(ListTools, `{"resultType":"complete","tools":[]}`)
	f(ListTools, `{"resultType":null,"tools":[]}`)
	f(CallTool, `{"resultType":"input_required","inputRequests":{}}`)
	f(ReadResource, `{"resultType":"input_required"}`)
	f(ListTools, `{"resultType":"of the future","tools":5}`)
	f(ListTools, `{"resultType":""}`)
	// Duplicate names are kept among members nobody reads.
	f(ListTools, `{"x":1,"tools":[],"x":2,"":0,"":0}`)
	f(ListTools, `{"tools":[],"contents":1,"contents":2}`)
	f(CallTool, `{"content":[],"":1,"":2}`)
}

func TestD2_ResultsRefused(t *testing.T) {
	f := func(k Kind, bodies ...string) {
		t.Helper()
		for _, body := range bodies {
			a, err := DecodeAnswer(k, append([]byte{0}, body...))
			if !errors.As(err, new(*BodyError)) || errors.As(err, new(*SyntaxError)) || a.Body != nil {
				t.Errorf("%v %s: %q, %v", k, body, a.Body, err)
			}
		}
	}
	for k := range Notifications {
		f(k, `{}`, `[]`, `null`, `""`, `0`, `{"x":[]}`, `{"":[]}`)
	}
	f(ListTools, `{"tools":null}`, `{"tools":{}}`, `{"tools":"[]"}`, `{"resources":[]}`, `{"result":{"tools":[]}}`, `{"Tools":[]}`)
	f(ListTools, `{"tools":[],"tools":[]}`, `{"tools":[],"\u0074ools":[]}`, `{"tools":1,"tools":[]}`)
	f(ListTools, `{"resultType":"complete"}`, `{"resultType":"\u0063omplete"}`, `{"resultType":null}`)
	f(ListTools, `{"resultType":1,"tools":[]}`, `{"resultType":["complete"],"tools":[]}`, `{"resultType":true,"tools":[]}`)
	f(ListTools, `{"resultType":"x","resultType":"complete","tools":[]}`, `{"resultType":null,"resultType":"x"}`)
	f(ListTools, `{"resultType":"x","tools":[],"tools":[]}`)
	f(ListResources, `{"contents":[]}`)
	f(ReadResource, `{"content":[]}`, `{"structuredContent":{}}`)
	f(CallTool, `{"content":{}}`, `{"content":null}`, `{"content":[],"content":[]}`)
	f(CallTool, `{"structuredContent":1,"structuredContent":2}`, `{"content":[],"structuredContent":1,"structuredContent":1}`)
}

func TestD2_Errors(t *testing.T) {
	f := func(body string, want Error) {
		t.Helper()
		for k := range Kind(KindCount) {
			a, err := DecodeAnswer(k, append([]byte{1}, body...))
			if err != nil || a.Tag != TagError || string(a.Body) != body {
				t.Errorf("%v %s: %q, %v", k, body, a.Body, err)
			}
		}
		got, err := ParseError([]byte(body))
		if err != nil || got.Code != want.Code || got.Message != want.Message || !bytes.Equal(got.Data, want.Data) || (got.Data == nil) != (want.Data == nil) {
			t.Errorf("ParseError(%s) = %+v, %v", body, got, err)
		}
	}
	f(`{"code":-32601,"message":"no"}`, Error{Code: -32601, Message: "no"})
	f(` {"message":"\u0061\n😀","data": [1.0, 1] ,"code":0}`, Error{Message: "a\n😀", Data: []byte(`[1.0, 1]`)})
	f(`{"code":2147483647,"message":"","data":null}`, Error{Code: math.MaxInt32, Data: []byte("null")})
	f(`{"code":-2147483648,"message":""}`, Error{Code: math.MinInt32})
	f(`{"code":-0,"message":""}`, Error{})
	f(`{"c\u006fde":1,"message":"","x":1,"x":2}`, Error{Code: 1})
	f(`{"code":1,"message":"a\ud800b"}`, Error{Code: 1, Message: "a\ufffdb"})
}

func TestD2_ErrorsRefused(t *testing.T) {
	for _, body := range []string{
		`{}`, `[]`, `null`, `"x"`, `{"code":1}`, `{"message":"x"}`, `{"code":"1","message":""}`, `{"code":null,"message":""}`,
		`{"code":1.0,"message":""}`, `{"code":1e2,"message":""}`, `{"code":1E0,"message":""}`, `{"code":1.5,"message":""}`,
		`{"code":2147483648,"message":""}`, `{"code":-2147483649,"message":""}`, `{"code":99999999999999999999,"message":""}`,
		`{"code":1,"message":null}`, `{"code":1,"message":1}`, `{"code":1,"message":["x"]}`, `{"Code":1,"message":""}`,
		`{"code":1,"code":1,"message":""}`, `{"code":1,"message":"","m\u0065ssage":""}`, `{"code":1,"message":"","data":1,"data":1}`,
	} {
		if _, err := DecodeAnswer(CallTool, append([]byte{1}, body...)); !errors.As(err, new(*BodyError)) {
			t.Errorf("%s: %v", body, err)
		}
		if e, err := ParseError([]byte(body)); err == nil {
			t.Errorf("ParseError(%s) = %+v", body, e)
		}
	}
}

func TestD2_ErrorAppendsWhatParses(t *testing.T) {
	for _, want := range []Error{
		{Code: -32603, Message: "the answer is too big", Data: []byte(`{"limit": 1.0}`)},
		{Message: "<&>\u2028\"\\\x00\n😀"},
		{Code: math.MinInt32},
	} {
		body := want.Append(nil)
		got, err := ParseError(body)
		if err != nil || got.Code != want.Code || got.Message != want.Message || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	e := &Error{Code: 7, Message: "bad \xff"}
	if got := string(e.Append(nil)); got != `{"code":7,"message":"bad `+"\ufffd"+`"}` {
		t.Errorf("invalid UTF-8: %s", got)
	}
	if e.Error() != "bad \xff (7)" {
		t.Errorf("Error() = %q", e.Error())
	}
}

func TestD5_RoundTripOfReadyMadeBytes(t *testing.T) {
	for _, body := range []string{
		` {"tools" : [ {"n":9007199254740993,"f":1.0,"s":"\u003c\ud800\/","x":1,"x":2} ] , "new":null}`,
		`{"tools":[],"e":1e400}`,
	} {
		frame := AppendResult([]byte("before"), []byte(body))
		a, err := DecodeAnswer(ListTools, frame[len("before"):])
		if err != nil || a.Tag != TagResult || string(a.Body) != body {
			t.Errorf("%s: %q, %v", body, a.Body, err)
		}
	}
}

type tool struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"inputSchema,omitempty"`
	Hint   *bool           `json:"hint,omitempty"`
}

func TestD5_ValuesEncodeAsEncodingJSONDoes(t *testing.T) {
	f := func(v any, want string) {
		t.Helper()
		got, err := AppendValue([]byte("before"), TagResult, v)
		if err != nil || string(got) != "before\x00"+want {
			t.Errorf("%#v: %q, %v; want %q", v, got, err, want)
		}
	}
	f(map[string]any{"tools": []tool{{Name: "<t&>"}}}, `{"tools":[{"name":"<t&>"}]}`)
	f(map[string]any{"tools": []tool{{Schema: json.RawMessage(`{ "n": 9007199254740993, "f": 1.0, "u": "\u0041\ud800" }`)}}},
		`{"tools":[{"name":"","inputSchema":{"n":9007199254740993,"f":1.0,"u":"\u0041\ud800"}}]}`)
	f(map[string]any{"n": json.Number("12.50"), "nil": []int(nil), "bytes": []byte{1}}, `{"bytes":"AQ==","n":12.50,"nil":null}`)
	f(struct{ Text string }{"\ufffd"}, "{\"Text\":\"\ufffd\"}")
	f(json.RawMessage(`{"Text":"\ufffd"}`), `{"Text":"\ufffd"}`)
	f(map[string]any{"r": json.RawMessage(`"\ufffd\ud800\uFFFD\\ufffd"`), "s": `\ufffd`}, `{"r":"\ufffd\ud800\uFFFD\\ufffd","s":"\\ufffd"}`)
	f(&Error{Code: 1, Message: "m", Data: []byte(`{"x":1.0}`)}, `{"code":1,"message":"m","data":{"x":1.0}}`)
}

func TestD5_FailureLeavesTheBufferAsItWas(t *testing.T) {
	type named string
	f := func(tag Tag, v any) {
		t.Helper()
		dst := append(make([]byte, 0, 256), "before"...)
		got, err := AppendValue(dst, tag, v)
		failure, ok := errors.AsType[*EncodeError](err)
		if !ok || failure.Err == nil || string(got) != "before" || &got[0] != &dst[0] {
			t.Errorf("%#v: %q, %v", v, got, err)
		}
	}
	f(TagResult, map[string]any{"f": func() {}})
	f(TagResult, map[string]any{"n": math.NaN()})
	f(TagResult, map[string]any{"s": "a\xff"})
	f(TagResult, map[string]any{"a\xff": 1})
	f(TagResult, map[string]any{"s": named("\xed\xa0\x80")})
	f(TagResult, map[string]any{"s": "a\xff", "r": json.RawMessage(`"\ufffd"`)})
	f(TagResult, map[string]any{"s": "a\xff", "r": json.RawMessage(`"\ufffd\ud800"`)})
	f(TagResult, map[string]any{"r": json.RawMessage("\"\xff\"")})
	f(TagResult, map[string]any{"r": json.RawMessage(`{`)})
	f(TagResult, nil)
	f(TagResult, []int{})
	f(TagResult, map[string]int(nil))
	f(TagError, "text")
	f(Tag(2), struct{}{})
}

func TestD5_ValueRoundTrips(t *testing.T) {
	frame, err := AppendValue(nil, TagResult, map[string]any{"tools": []tool{{Name: "t"}}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := DecodeAnswer(ListTools, frame)
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ Tools []tool }
	if err := json.Unmarshal(a.Body, &back); err != nil || len(back.Tools) != 1 || back.Tools[0].Name != "t" {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestD5_ValueGoesIntoTheBufferGiven(t *testing.T) {
	b := GetBuffer(4096)
	defer b.Release()
	grown, err := AppendValue(b.B, TagResult, map[string][]int{"tools": {}})
	if err != nil || &grown[0] != &slices.Grow(b.B, 1)[:1][0] {
		t.Errorf("the frame is not in the buffer: %v", err)
	}
}

func TestD1_FailuresSayWhatIsWrong(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := DecodeAsk([]byte{0, 0, 0, 1, 17})
	f(err, "unknown kind 17: kinds 0 to 4 are served")
	_, err = DecodeAnswer(ReadResource, []byte{9})
	f(err, "unknown answer frame tag 9: it must be 0 or 1")
	_, err = DecodeAnswer(ReadResource, []byte("\x00{}"))
	f(err, "answer frame does not parse: result has no contents")
	_, err = DecodeAnswer(CallTool, []byte("\x00{}"))
	f(err, "answer frame does not parse: result has no content and no structuredContent")
	_, err = DecodeAnswer(CallTool, []byte("\x01{\"code\":1.0}"))
	f(err, "answer frame does not parse: code must be an integer")
	_, err = CallTool.Payload(nil)
	f(err, "tools/call: params are missing, an object is required")
	_, err = ParseMessage([]byte(`{"jsonrpc":"2.0","method":"m","id":1.5}`))
	f(err, "invalid message: id must be a string or an integer")
	_, err = AppendValue(nil, TagResult, nil)
	f(err, "answer cannot be encoded: it must be a JSON object")
	if !errors.Is(err, errNotObject) {
		t.Errorf("the cause is not wrapped: %v", err)
	}
}
