//go:build linux

package suite

import (
	"strings"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

// BenchmarkEncode is what 4 KB cost to copy, and to encode: as the message of an answer, and as an event.
func BenchmarkEncode(b *testing.B) {
	text := `{"method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 4096-70) + `"}}`
	body, dst := []byte(text), make([]byte, 0, 16<<10)
	n, err := codec.ParseNotification(body)
	if err != nil {
		b.Fatal(err)
	}
	envelope := codec.AppendNotificationEnvelope(nil, n)
	for _, op := range []struct {
		name string
		run  func() int
	}{
		{OpCopy, func() int { return copy(dst[:len(body)], body) }},
		{OpEncode, func() int { return len(codec.AppendResult(dst, body)) }},
		{OpEvent, func() int { return len(codec.AppendEvent(dst, envelope)) }},
	} {
		b.Run(strings.TrimPrefix(op.name, "Encode/"), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				op.run()
			}
		})
	}
}
