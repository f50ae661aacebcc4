package gateway

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/diverge-network/gateway/pkg/mux"
)

func TestTheDefaultConfigIsValidAndOnLoopback(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, l := range c.listeners() {
		if !strings.HasPrefix(l.address, "127.0.0.1:") {
			t.Errorf("%s defaults to %s", l.flag, l.address)
		}
	}
}

func TestWhatCannotBeMeantIsRefusedByFlagAndValue(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		flag   string
		value  string
	}{
		{"the zero value", func(c *Config) { *c = Config{} }, "--outside", `""`},
		{"no port", func(c *Config) { c.Inside = "127.0.0.1" }, "--inside", `"127.0.0.1"`},
		{"a port by name", func(c *Config) { c.Ops = "127.0.0.1:http" }, "--ops", `"127.0.0.1:http"`},
		{"a port over 65535", func(c *Config) { c.Outside = "127.0.0.1:65536" }, "--outside", `"127.0.0.1:65536"`},
		{"a port with a leading zero", func(c *Config) { c.Outside = "127.0.0.1:080" }, "--outside", `"127.0.0.1:080"`},
		{"an IPv6 address without brackets", func(c *Config) { c.Inside = "::1:8080" }, "--inside", `"::1:8080"`},
		{"a URL", func(c *Config) { c.Inside = "http://127.0.0.1:8080" }, "--inside", `"http://127.0.0.1:8080"`},
		{"outside on all addresses", func(c *Config) { c.Outside = ":14979" }, "--outside", `":14979"`},
		{"inside on all addresses", func(c *Config) { c.Inside = "0.0.0.0:8080" }, "--inside", `"0.0.0.0:8080"`},
		{"inside on all IPv6 addresses", func(c *Config) { c.Inside = "[::]:8080" }, "--inside", `"[::]:8080"`},
		{"a certificate without a key", func(c *Config) { c.TLSCert = "cert.pem" }, "--tls-cert", `"cert.pem"`},
		{"a key without a certificate", func(c *Config) { c.TLSKey = "key.pem" }, "--tls-key", `"key.pem"`},
		{"a client CA without TLS", func(c *Config) { c.ClientCA = "ca.pem" }, "--client-ca", `"ca.pem"`},
		{"all addresses with a client CA and no keys", func(c *Config) {
			c.Outside, c.TLSCert, c.TLSKey, c.ClientCA = ":14979", "cert.pem", "key.pem", "ca.pem"
		}, "--outside", `":14979"`},
		{"one address twice", func(c *Config) { c.Ops = c.Inside }, "--ops", `"127.0.0.1:8080"`},
		{"an origin with a path", func(c *Config) { c.AllowOrigin = []string{"https://a.example/x"} }, "--allow-origin", `"https://a.example/x"`},
		{"an origin without a scheme", func(c *Config) { c.AllowOrigin = []string{"a.example"} }, "--allow-origin", `"a.example"`},
		{"an origin with the port that browsers leave out", func(c *Config) { c.AllowOrigin = []string{"https://a.example:443"} }, "--allow-origin", `"https://a.example:443"`},
		{"any origin", func(c *Config) { c.AllowOrigin = []string{"*"} }, "--allow-origin", `"*"`},
		{"the second origin", func(c *Config) { c.AllowOrigin = []string{"https://a.example", "null"} }, "--allow-origin", `"null"`},
		{"a negative time to drain", func(c *Config) { c.DrainTimeout = -time.Second }, "--drain-timeout", `"-1s"`},
		{"a negative time that is not never", func(c *Config) { c.ReaskAfter = -time.Second }, "--reask-after", `"-1s"`},
		{"a negative wait that is not never", func(c *Config) { c.SSEAfter = -time.Second }, "--sse-after", `"-1s"`},
		{"a far side nobody knows", func(c *Config) { c.FarSide = "2027-01-01" }, "--far-side", `"2027-01-01"`},
		{"messages of nothing", func(c *Config) { c.MaxMessage = 0 }, "--max-message", `"0"`},
		{"messages over the top", func(c *Config) { c.MaxMessage = math.MaxInt32 }, "--max-message", `"2147483647"`},
		{"pings without pause", func(c *Config) { c.Ping = 0 }, "--ping", `"0s"`},
		{"containers forgotten at once", func(c *Config) { c.ContainerIdle = time.Millisecond }, "--container-idle", `"1ms"`},
		{"containers forgotten before", func(c *Config) { c.ContainerIdle = -time.Hour }, "--container-idle", `"-1h0m0s"`},
		{"sessions that end at once", func(c *Config) { c.SessionTTL = time.Millisecond }, "--session-ttl", `"1ms"`},
		{"streams that may not stall", func(c *Config) { c.StreamStall = -1 }, "--stream-stall", `"-1ns"`},
		{"comments without pause", func(c *Config) { c.SSEKeepAlive = 0 }, "--sse-keepalive", `"0s"`},
		{"no asks", func(c *Config) { c.Limits.Asks = 0 }, "--max-asks", `"0"`},
		{"fewer than no waiting asks", func(c *Config) { c.Limits.Waiting = -1 }, "--max-waiting", `"-1"`},
		{"more asks than can be counted", func(c *Config) { c.Limits.AsksTotal = math.MaxInt }, "--max-asks-total", `"9223372036854775807"`},
		{"no streams", func(c *Config) { c.Limits.Streams = 0 }, "--max-streams", `"0"`},
		{"no containers", func(c *Config) { c.Limits.Containers = 0 }, "--max-containers", `"0"`},
		{"more waiting asks than asks", func(c *Config) { c.Limits.Asks = 10 }, "--max-waiting", `"256"`},
		{"more asks of one than of all", func(c *Config) { c.Limits.AsksTotal = 10 }, "--max-asks", `"256"`},
		{"a key file that is not there", func(c *Config) { c.SessionKeyFile = "no/such/file" }, "--session-key-file", `"no/such/file"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Default()
			test.change(&c)
			_, err := New(c)
			var bad *ConfigError
			if !errors.As(err, &bad) {
				t.Fatalf("New = %v, want a *ConfigError", err)
			}
			if text := err.Error(); !strings.HasPrefix(text, test.flag+": "+test.value+" ") || strings.Contains(text, "\n") {
				t.Errorf("error %q, want one line that begins with %s: %s", text, test.flag, test.value)
			}
		})
	}
}

func TestWhatCanBeMeantIsTakenAsItIs(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"IPv6 loopback":                       func(c *Config) { c.Inside = "[::1]:8080" },
		"another address of the loopback":     func(c *Config) { c.Outside = "127.9.9.9:14979" },
		"a name":                              func(c *Config) { c.Inside = "localhost:8080" },
		"ops from anywhere":                   func(c *Config) { c.Ops = ":9090" },
		"three free ports":                    func(c *Config) { c.Outside, c.Inside, c.Ops = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0" },
		"everything from anywhere, insecure":  func(c *Config) { c.Outside, c.Inside, c.Insecure = ":14979", "0.0.0.0:8080", true },
		"everything from anywhere, with keys": func(c *Config) { c.Outside, c.Inside, c.AuthKeys = ":14979", "0.0.0.0:8080", "keys.json" },
		"never asked again on the same line":  func(c *Config) { c.ReaskAfter = mux.Never },
		"asked again at once":                 func(c *Config) { c.ReaskAfter = 0 },
		"event streams at once":               func(c *Config) { c.SSEAfter = 0 },
		"JSON always":                         func(c *Config) { c.SSEAfter = mux.Never },
		"a far side with sessions":            func(c *Config) { c.FarSide = "2025-03-26" },
		"a stateless far side":                func(c *Config) { c.FarSide = "2026-07-28" },
		"containers kept for ever":            func(c *Config) { c.ContainerIdle = 0 },
		"origins":                             func(c *Config) { c.AllowOrigin = []string{"https://a.example", "http://b.example:3000"} },
		"one of everything":                   func(c *Config) { c.Limits = Limits{1, 1, 1, 1, 1} },
	} {
		t.Run(name, func(t *testing.T) {
			c := Default()
			change(&c)
			before := c
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			if c.Outside != before.Outside || c.Inside != before.Inside || c.Ops != before.Ops ||
				c.ReaskAfter != before.ReaskAfter || c.MaxMessage != before.MaxMessage {
				t.Error("Validate changed the configuration")
			}
		})
	}
}
