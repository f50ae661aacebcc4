package providers

import (
	"net"
	"strings"
	"testing"

	"github.com/diverge-network/gateway/internal/wsock/wstest"
)

// What a provider takes for an ask is as strict as what the gateway sends: the other direction of protocol D2 and D4.
func TestAMalformedAskEndsAStrangersServer(t *testing.T) {
	malformed := map[string]string{
		"truncated":           "\x00\x00\x00\x01",
		"unknown kind":        "\x00\x00\x00\x01\x05{}",
		"no payload":          "\x00\x00\x00\x01\x00",
		"not JSON":            "\x00\x00\x00\x01\x00{",
		"trailing bytes":      "\x00\x00\x00\x01\x00{}{}",
		"an array":            "\x00\x00\x00\x01\x01[]",
		"NaN":                 "\x00\x00\x00\x01\x02" + `{"name":"t","arguments":{"n":NaN}}`,
		"bad UTF-8":           "\x00\x00\x00\x01\x02{\"name\":\"\xff\"}",
		"a tool without name": "\x00\x00\x00\x01\x02{}",
		"a name twice":        "\x00\x00\x00\x01\x02" + `{"name":"t","name":"u"}`,
		"a number as name":    "\x00\x00\x00\x01\x02" + `{"name":1}`,
		"null for a tool":     "\x00\x00\x00\x01\x02null",
		"null for a resource": "\x00\x00\x00\x01\x03null",
	}
	each(t, func(t *testing.T, p *program) {
		for name, ask := range malformed {
			t.Run(name, func(t *testing.T) {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer ln.Close()
				provider := start(t, p, "ws://"+ln.Addr().String()+"/containers/a1")
				proxy, request := wstest.Accept(t, ln, nil)
				if request.URL.Path != "/containers/a1/requests" {
					t.Fatalf("it connected %s", request.URL.Path)
				}
				proxy.Binary([]byte(ask))
				if status := provider.exit(); status != 1 || !strings.HasPrefix(provider.stderr.String(), "malformed ask: ") {
					t.Errorf("it ended with status %d and %q", status, &provider.stderr)
				}
			})
		}
	})
}

// The way in which an answer breaks off is the one that protocol A4 is about: its message has arrived, its Close has not.
func TestAStrangersAbruptAnswerIsAMessageWithoutAClose(t *testing.T) {
	each(t, func(t *testing.T, p *program) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		start(t, p, "ws://"+ln.Addr().String()+"/containers/a1")
		proxy, _ := wstest.Accept(t, ln, nil)
		ask := "\x00\x00\x01\x02\x02" + `{"name":"abrupt"}`

		proxy.Binary([]byte(ask))
		first, request := wstest.Accept(t, ln, nil)
		if request.URL.Path != "/containers/a1/mcp/call-tool/258" {
			t.Errorf("it opened %s", request.URL.Path)
		}
		if message := first.ReadBinary(); !strings.HasPrefix(string(message), "\x00{") {
			t.Errorf("it answered %q", message)
		}
		first.ReadGone()

		proxy.Binary([]byte(ask))
		second, _ := wstest.Accept(t, ln, nil)
		if message := second.ReadBinary(); !strings.Contains(string(message), `"again"`) {
			t.Errorf("it answered %q", message)
		}
		second.ReadClose()
	})
}
