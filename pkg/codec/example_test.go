package codec_test

import (
	"errors"
	"fmt"

	"github.com/diverge-network/gateway/pkg/codec"
)

// A client's request becomes an ask.
func Example_ask() {
	m, err := codec.ParseMessage([]byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"t"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	kind, ok := codec.KindOfMethod(m.Method)
	if !ok {
		fmt.Println("no such method")
		return
	}
	payload, err := kind.Payload(m.Params)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", codec.AppendAsk(nil, 258, kind, payload))
	fmt.Printf("answered on %s\n", codec.AppendPath(nil, kind, 258))
	// Output:
	// 00000102027b226e616d65223a2274227d
	// answered on /mcp/call-tool/258
}

// An answer becomes the response to the request, byte for byte.
func Example_answer() {
	a, err := codec.DecodeAnswer(codec.CallTool, []byte("\x00"+`{"content":[],"cost":1.50}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", codec.AppendResponse(nil, []byte(`9007199254740993`), a.Body))
	// Output:
	// {"jsonrpc":"2.0","id":9007199254740993,"result":{"content":[],"cost":1.50}}
}

func ExampleDecodeAnswer_failures() {
	for _, frame := range []string{"", "\x07{}", "\x00" + `{"tools":{}}`, "\x00" + `{"tools":[}`} {
		_, err := codec.DecodeAnswer(codec.ListTools, []byte(frame))
		switch {
		case errors.Is(err, codec.ErrEmpty):
			fmt.Println("empty:", err)
		case errors.As(err, new(*codec.UnknownTagError)):
			fmt.Println("tag:", err)
		case errors.As(err, new(*codec.BodyError)):
			fmt.Println("body:", err)
		}
	}
	// Output:
	// empty: answer frame is empty: it has no tag
	// tag: unknown answer frame tag 7: it must be 0 or 1
	// body: answer frame does not parse: tools must be an array
	// body: answer frame does not parse: not JSON: invalid character '}' at start of value at byte 10
}

// A notification becomes a server-sent event.
func ExampleAppendNotificationEnvelope() {
	n, _, err := codec.DecodeNotification([]byte("\x00{\n  \"method\": \"notifications/tools/list_changed\"\n}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	message := codec.AppendNotificationEnvelope(nil, n)
	fmt.Printf("%s", codec.AppendEvent(nil, message))
	// Output:
	// event: message
	// data: {"jsonrpc":"2.0",   "method": "notifications/tools/list_changed" }
}

// A request of the stateless revision goes to a far side that has sessions,
// and its progress comes back under a token of the gateway's own.
func ExampleAppendParams() {
	m, err := codec.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	meta, err := codec.ParseMeta(m.Meta)
	if err != nil {
		fmt.Println(err)
		return
	}
	edit := codec.MetaEdit{ProgressToken: []byte("1099511627776"), DropModern: meta.ProtocolVersion != nil}
	params, err := codec.AppendParams(nil, m.Params, m.Meta, edit)
	fmt.Printf("%s %v\n", params, err)

	n, err := codec.ParseNotification([]byte(`{"method":"notifications/progress","params":{"progressToken":1099511627776,"progress":1}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	progress, err := codec.AppendProgress(nil, n, meta.ProgressToken)
	fmt.Printf("%s %v\n", progress, err)
	// Output:
	// {"name":"t","_meta":{"progressToken":1099511627776}} <nil>
	// {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}} <nil>
}

// One result, as clients of both kinds of revision get it.
func ExampleModernResponse() {
	answer, _ := codec.DecodeAnswer(codec.CallTool, []byte("\x00"+`{"structuredContent":[1.0]}`))
	modern, err := codec.ModernResponse(nil, answer, []byte("1"), codec.CallTool, nil)
	fmt.Printf("%s %v\n", modern.B, err)
	legacy, err := codec.LegacyResponse(nil, answer, []byte("1"), codec.CallTool)
	fmt.Printf("%s %v\n", legacy.B, err)
	answer, _ = codec.DecodeAnswer(codec.CallTool, []byte("\x00"+`{"resultType":"input_required"}`))
	_, err = codec.LegacyResponse(nil, answer, []byte("1"), codec.CallTool)
	fmt.Println(errors.Is(err, codec.ErrInputRequired))
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"structuredContent":[1.0],"resultType":"complete","content":[{"type":"text","text":"[1.0]"}]}} <nil>
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"[1.0]"}]}} <nil>
	// true
}

func ExampleParsePath() {
	kind, channel, ok := codec.ParsePath([]byte("/mcp/read-resource/4294967295"))
	fmt.Println(kind, channel, ok)
	_, _, ok = codec.ParsePath([]byte("/mcp/read-resource/007"))
	fmt.Println(ok)
	// Output:
	// read-resource 4294967295 true
	// false
}

func ExampleGetBuffer() {
	b := codec.GetBuffer(64)
	defer b.Release()
	b.B = codec.AppendResult(b.B, []byte(`{"tools":[]}`))
	fmt.Printf("%x\n", b.B)
	// Output:
	// 007b22746f6f6c73223a5b5d7d
}

func ExampleAppendValue() {
	type tool struct {
		Name string `json:"name"`
	}
	frame, err := codec.AppendValue(nil, codec.TagResult, map[string][]tool{"tools": {{Name: "a<b"}}})
	fmt.Printf("%q %v\n", frame, err)
	_, err = codec.AppendValue(nil, codec.TagResult, map[string]string{"text": "\xff"})
	fmt.Println(err != nil)
	// Output:
	// "\x00{\"tools\":[{\"name\":\"a<b\"}]}" <nil>
	// true
}
