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
	{"DecodeAnswer/result", len(sampleResult), func([]byte) bool { _, err := DecodeAnswer(CallTool, sampleResultFrame); return err == nil }},
	{"DecodeAnswer/error", len(sampleError), func([]byte) bool { _, err := DecodeAnswer(CallTool, sampleErrorFrame); return err == nil }},
	{"DecodeNotification", len(sampleNotification), func([]byte) bool { _, _, err := DecodeNotification(sampleNotificationFrame); return err == nil }},
	{"ResourceURI", 0, func([]byte) bool { _, ok := sampleParsed.ResourceURI(); return ok }},
	{"ParseMessage", len(sampleRequest), func([]byte) bool { _, err := ParseMessage(sampleRequest); return err == nil }},
	{"AppendResult", 0, func(dst []byte) bool { return len(AppendResult(dst, sampleResult)) > 0 }},
	{"AppendError", 0, func(dst []byte) bool { return len(AppendError(dst, sampleError)) > 0 }},
	{"AppendResponse", len(sampleResult), func(dst []byte) bool { return len(AppendResponse(dst, sampleID, sampleResult)) > 0 }},
	{"AppendErrorResponse", 0, func(dst []byte) bool { return len(AppendErrorResponse(dst, sampleID, sampleError)) > 0 }},
	{"AppendNotificationEnvelope", 0, func(dst []byte) bool { return len(AppendNotificationEnvelope(dst, sampleParsed)) > 0 }},
	{"AppendEvent", len(sampleResult), func(dst []byte) bool { return len(AppendEvent(dst, sampleResult)) > 0 }},
	{"Error.Append", 0, func(dst []byte) bool { return len(sampleFailure.Append(dst)) > 0 }},
	{"Buffer", 0, func([]byte) bool { b := GetBuffer(4096); b.B = append(b.B, sampleError...); b.Release(); return true }},
}

var (
	sampleAsk               = AppendAsk(nil, 258, CallTool, sampleParams)
	samplePath              = []byte("/mcp/call-tool/4294967295")
	sampleMethod            = []byte("resources/read")
	sampleID                = []byte("9007199254740993")
	sampleResultFrame       = AppendResult(nil, sampleResult)
	sampleErrorFrame        = AppendError(nil, sampleError)
	sampleNotificationFrame = AppendResult(nil, sampleNotification)
	sampleParsed, _         = ParseNotification(sampleNotification)
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
