//go:build !race

package codec

import (
	"strings"
	"testing"
)

// The traffic the gates and the benchmarks measure: what a tool call of a few
// kilobytes looks like on its way.
var (
	sampleParams       = []byte(`{"name":"search","arguments":{"query":"` + strings.Repeat("text ", 40) + `","limit":10},"_meta":{"progressToken":7}}`)
	sampleRequest      = []byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":` + string(sampleParams) + `}`)
	sampleResult       = []byte(`{"content":[` + strings.Repeat(`{"type":"text","text":"a line with \"quotes\", \u00e9 and é"},`, 64) + `{"type":"text","text":""}],"isError":false,"_meta":{}}`)
	sampleError        = []byte(`{"code":-32602,"message":"no \u00e9","data":{"uri":"file:///a"}}`)
	sampleNotification = []byte("{\n \"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"file:///a/b/c\"}}")
)

// operations are the hot paths. Each works into dst, which has room.
var operations = []struct {
	name string
	size int // bytes read, for throughput; 0 if it is of no interest
	run  func(dst []byte) bool
}{
	{"AppendAsk", 0, func(dst []byte) bool { return len(AppendAsk(dst, 258, CallTool, sampleParams)) > 0 }},
	{"DecodeAsk", 0, func([]byte) bool { _, err := DecodeAsk(sampleAsk); return err == nil }},
	{"AppendPath", 0, func(dst []byte) bool { return len(AppendPath(dst, CallTool, 258)) > 0 }},
	{"ParsePath", 0, func([]byte) bool { _, _, ok := ParsePath(samplePath); return ok }},
	{"KindOfMethod", 0, func([]byte) bool { _, ok := KindOfMethod(sampleMethod); return ok }},
	{"Payload", 0, func([]byte) bool { _, err := CallTool.Payload(sampleParams); return err == nil }},
	{"CheckJSON", len(sampleResult), func([]byte) bool { return CheckJSON(sampleResult) == nil }},
	{"CheckJSON/deep", len(sampleDeep), func([]byte) bool { return CheckJSON(sampleDeep) == nil }},
	{"DecodeAnswer/result", len(sampleResult), func([]byte) bool { _, err := DecodeAnswer(CallTool, sampleResultFrame); return err == nil }},
	{"DecodeAnswer/error", len(sampleError), func([]byte) bool { _, err := DecodeAnswer(CallTool, sampleErrorFrame); return err == nil }},
	{"DecodeNotification", len(sampleNotification), func([]byte) bool { _, _, err := DecodeNotification(sampleNotificationFrame); return err == nil }},
	{"ResourceURI", 0, func([]byte) bool { _, ok := sampleParsed.ResourceURI(); return ok }},
	{"ParseMessage", len(sampleRequest), func([]byte) bool { _, err := ParseMessage(sampleRequest); return err == nil }},
	{"ParseMessage/modern", 0, func([]byte) bool { _, err := ParseMessage(sampleModernRequest); return err == nil }},
	{"ParseMeta", 0, func([]byte) bool { m, err := ParseMeta(sampleModern.Meta); return err == nil && m.LogLevel != nil }},
	{"AppendBatch", 0, func([]byte) bool {
		var room [4][]byte
		b, err := AppendBatch(room[:0], sampleBatch, 4)
		return err == nil && len(b) == 2
	}},
	{"AppendParams/as it is", 0, func(dst []byte) bool {
		_, err := AppendParams(dst, sampleModern.Params, nil, MetaEdit{})
		return err == nil
	}},
	{"AppendParams/progress token", 0, func(dst []byte) bool {
		_, err := AppendParams(dst, sampleMessage.Params, sampleMessage.Meta, MetaEdit{ProgressToken: sampleID})
		return err == nil
	}},
	{"AppendParams/drop", 0, func(dst []byte) bool {
		_, err := AppendParams(dst, sampleModern.Params, sampleModern.Meta, MetaEdit{ProgressToken: sampleID, DropModern: true})
		return err == nil
	}},
	{"AppendParams/add", 0, func(dst []byte) bool {
		_, err := AppendParams(dst, sampleMessage.Params, sampleMessage.Meta, MetaEdit{Add: sampleAdd})
		return err == nil
	}},
	{"AppendParams/make", 0, func(dst []byte) bool {
		_, err := AppendParams(dst, sampleMessage.Params, nil, MetaEdit{Add: sampleAdd})
		return err == nil
	}},
	{"ModernResponse", len(sampleResult), func([]byte) bool { return respondsOnce(sampleResult, CallTool, true) }},
	{"ModernResponse/list", len(sampleTools), func([]byte) bool { return respondsOnce(sampleTools, ListTools, true) }},
	{"ModernResponse/structured", len(sampleStructured), func([]byte) bool { return respondsOnce(sampleStructured, CallTool, true) }},
	{"LegacyResponse", len(sampleResult), func([]byte) bool { return respondsOnce(sampleResult, CallTool, false) }},
	{"LegacyResponse/list", len(sampleTools), func([]byte) bool { return respondsOnce(sampleTools, ListTools, false) }},
	{"LegacyResponse/structured", len(sampleStructured), func([]byte) bool { return respondsOnce(sampleStructured, CallTool, false) }},
	{"AppendModernError", 0, func(dst []byte) bool {
		_, code, err := AppendModernError(dst, sampleNotFound)
		return err == nil && code == -32602
	}},
	{"AppendSubscribed", 0, func(dst []byte) bool { _, err := AppendSubscribed(dst, sampleParsed, sampleID); return err == nil }},
	{"AppendProgress", 0, func(dst []byte) bool {
		_, err := AppendProgress(dst, sampleParsedProgress, sampleID)
		return err == nil
	}},
	{"AppendWithMember", 0, func(dst []byte) bool {
		_, err := AppendWithMember(dst, sampleParams, "name", sampleID)
		return err == nil
	}},
	{"AppendResult", 0, func(dst []byte) bool { return len(AppendResult(dst, sampleResult)) > 0 }},
	{"AppendError", 0, func(dst []byte) bool { return len(AppendError(dst, sampleError)) > 0 }},
	{"AppendResponse", len(sampleResult), func(dst []byte) bool { return len(AppendResponse(dst, sampleID, sampleResult)) > 0 }},
	{"AppendErrorResponse", 0, func(dst []byte) bool { return len(AppendErrorResponse(dst, sampleID, sampleError)) > 0 }},
	{"AppendNotificationEnvelope", 0, func(dst []byte) bool { return len(AppendNotificationEnvelope(dst, sampleParsed)) > 0 }},
	{"AppendEvent", len(sampleResult), func(dst []byte) bool { return len(AppendEvent(dst, sampleResult)) > 0 }},
	{"Error.Append", 0, func(dst []byte) bool { return len(sampleFailure.Append(dst)) > 0 }},
	{"Buffer", 0, func([]byte) bool { b := GetBuffer(4096); b.B = append(b.B, sampleError...); b.Release(); return true }},
}

// respondsOnce is a result's way from its frame to its client.
func respondsOnce(result []byte, k Kind, modern bool) bool {
	frame := GetFrame(1 + len(result))
	defer frame.Release()
	frame.B = AppendResult(frame.B, result)
	a, err := DecodeAnswer(k, frame.B)
	if err != nil {
		return false
	}
	var out *Buffer
	if modern {
		out, err = ModernResponse(frame, a, sampleID, k, sampleServerInfo)
	} else {
		out, err = LegacyResponse(frame, a, sampleID, k)
	}
	if err != nil {
		return false
	}
	out.Release()
	return true
}

var (
	sampleDeep              = []byte(nested(maxDepth, "[", "", "]"))
	sampleAsk               = AppendAsk(nil, 258, CallTool, sampleParams)
	samplePath              = []byte("/mcp/call-tool/4294967295")
	sampleMethod            = []byte("resources/read")
	sampleID                = []byte("9007199254740993")
	sampleResultFrame       = AppendResult(nil, sampleResult)
	sampleErrorFrame        = AppendError(nil, sampleError)
	sampleNotificationFrame = AppendResult(nil, sampleNotification)
	sampleParsed, _         = ParseNotification(sampleNotification)
	sampleModernRequest     = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"` + strings.Repeat("text ", 40) + `"},"_meta":{"progressToken":7,` + string(sampleAdd) + `,"` + MetaLogLevel + `":"info"}}}`)
	sampleModern, _         = ParseMessage(sampleModernRequest)
	sampleMessage, _        = ParseMessage(sampleRequest)
	sampleBatch             = []byte("[" + string(sampleRequest) + "," + string(sampleRequest) + "]")
	sampleAdd               = []byte(`"` + MetaProtocolVersion + `":"2026-07-28","` + MetaClientInfo + `":{"name":"gateway","version":"1"},"` + MetaClientCapabilities + `":{}`)
	sampleServerInfo        = []byte(`{"name":"gateway","version":"1"}`)
	sampleTools             = []byte(`{"tools":[` + strings.Repeat(`{"name":"t","description":"a tool that does","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}},"outputSchema":{"type":"array"}},`, 20) + `{"name":"u"}]}`)
	sampleStructured        = []byte(`{"structuredContent":[` + strings.Repeat(`{"a":1,"b":"text"},`, 40) + `1]}`)
	sampleNotFound          = []byte(`{"code":-32002,"message":"no é","data":{"uri":"file:///a"}}`)
	sampleParsedProgress, _ = ParseNotification([]byte(`{"method":"notifications/progress","params":{"progressToken":123456789,"progress":1,"total":5}}`))
	sampleFailure           = &Error{Code: -32603, Message: "no", Data: []byte(`{"x":1}`)}
)

func TestHotPathsDoNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 64<<10)
	for _, op := range operations {
		if !op.run(dst) {
			t.Errorf("%s failed", op.name)
		}
		if n := testing.AllocsPerRun(200, func() { op.run(dst) }); n != 0 {
			t.Errorf("%s allocates %v times", op.name, n)
		}
	}
}

func BenchmarkOperation(b *testing.B) {
	dst := make([]byte, 0, 64<<10)
	for _, op := range operations {
		b.Run(op.name, func(b *testing.B) {
			b.SetBytes(int64(op.size))
			b.ReportAllocs()
			for b.Loop() {
				op.run(dst)
			}
		})
	}
}

func BenchmarkAppendValue(b *testing.B) {
	dst := make([]byte, 0, 64<<10)
	v := map[string]any{"content": []map[string]string{{"type": "text", "text": strings.Repeat("text ", 40)}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendValue(dst, TagResult, v); err != nil {
			b.Fatal(err)
		}
	}
}
