//go:build !race

package outside

import (
	"bufio"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/auth"
)

func TestJudgingATokenCostsNoAllocation(t *testing.T) {
	k := newKeyring(t)
	w := begin(t, k.asks)
	for _, path := range []string{"/mcp/call-tool/7", "/containers/a1/mcp/call-tool/7"} {
		var header fasthttp.RequestHeader
		text := "GET " + path + " HTTP/1.1\r\n" + upgradeHeaders + "Authorization: Bearer " + k.of("a1") + "\r\n\r\n"
		if err := header.Read(bufio.NewReader(strings.NewReader(text))); err != nil {
			t.Fatal(err)
		}
		var who auth.Identity
		n := testing.AllocsPerRun(1000, func() {
			target, _, reason, _ := w.handler.judge(&header, &who)
			if reason != "" || target.borrowedID() != "a1" || who.Subject() != "a1" {
				t.Fatal(reason)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}
