//go:build !race

package httphead

import (
	"bytes"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestAHeadIsReadWithoutAllocating(t *testing.T) {
	head := []byte(lines + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	from := bytes.NewReader(head)
	var header fasthttp.RequestHeader
	if n := testing.AllocsPerRun(200, func() {
		from.Reset(head)
		in := TakeReader(from)
		if err := Read(in, &header); err != nil {
			t.Fatal(err)
		}
		GiveBack(in)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRead(b *testing.B) {
	head := []byte(lines + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	from := bytes.NewReader(head)
	var header fasthttp.RequestHeader
	b.ReportAllocs()
	for b.Loop() {
		from.Reset(head)
		in := TakeReader(from)
		if err := Read(in, &header); err != nil {
			b.Fatal(err)
		}
		GiveBack(in)
	}
}
