package wsock

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// *fasthttp.RequestHeader is what CheckUpgrade is given.
var _ RequestHeader = (*fasthttp.RequestHeader)(nil)

func request(t testing.TB, lines ...string) *fasthttp.RequestHeader {
	t.Helper()
	ctx := &fasthttp.RequestCtx{}
	h := &ctx.Request.Header
	h.SetMethod(http.MethodGet)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestW8_WhatAnUpgradeNeeds(t *testing.T) {
	const (
		upgrade    = "Upgrade: websocket"
		connection = "Connection: Upgrade"
		version    = "Sec-WebSocket-Version: 13"
		key        = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
	)
	tests := map[string]struct {
		lines []string
		want  error
	}{
		"plain":                {[]string{upgrade, connection, version, key}, nil},
		"in any case":          {[]string{"upgrade: WebSocket", "connection: UPGRADE", "sec-websocket-version: 13", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="}, nil},
		"among others":         {[]string{"Upgrade: h2c, websocket", "Connection: keep-alive ,\tUpgrade", version, key}, nil},
		"on two lines":         {[]string{"Upgrade: h2c", upgrade, "Connection: keep-alive", connection, version, key}, nil},
		"no Upgrade":           {[]string{connection, version, key}, ErrNoUpgrade},
		"another Upgrade":      {[]string{"Upgrade: websockets", connection, version, key}, ErrNoUpgrade},
		"no Connection":        {[]string{upgrade, version, key}, ErrNoConnection},
		"Connection: close":    {[]string{upgrade, "Connection: close", version, key}, ErrNoConnection},
		"no version":           {[]string{upgrade, connection, key}, ErrVersion},
		"version 8":            {[]string{upgrade, connection, "Sec-WebSocket-Version: 8", key}, ErrVersion},
		"two versions":         {[]string{upgrade, connection, version, "Sec-WebSocket-Version: 8", key}, ErrVersion},
		"versions in a list":   {[]string{upgrade, connection, "Sec-WebSocket-Version: 13, 8", key}, ErrVersion},
		"no key":               {[]string{upgrade, connection, version}, ErrKey},
		"an empty key":         {[]string{upgrade, connection, version, "Sec-WebSocket-Key: "}, ErrKey},
		"a short key":          {[]string{upgrade, connection, version, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j"}, ErrKey},
		"a key of 17 bytes":    {[]string{upgrade, connection, version, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQA="}, ErrKey},
		"a key of 18 bytes":    {[]string{upgrade, connection, version, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQAA"}, ErrKey},
		"a key not in base64":  {[]string{upgrade, connection, version, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ*=="}, ErrKey},
		"two keys":             {[]string{upgrade, connection, version, key, key}, ErrKey},
		"nothing of the kind":  {nil, ErrNoUpgrade},
		"W1: offers are noted": {[]string{upgrade, connection, version, key, "Sec-WebSocket-Extensions: permessage-deflate", "Sec-WebSocket-Protocol: mcp"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := CheckUpgrade(request(t, tt.lines...))
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, wanted %v", err, tt.want)
			}
			if err == nil && string(got) != "dGhlIHNhbXBsZSBub25jZQ==" {
				t.Fatalf("key %q", got)
			}
		})
	}
}

// The example of RFC 6455, 1.3, and not a header more (protocol W1).
func TestW1_The101NegotiatesNothing(t *testing.T) {
	got := string(AppendSwitching([]byte("ahead "), []byte("dGhlIHNhbXBsZSBub25jZQ==")))
	want := "ahead HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
	if got != want {
		t.Fatalf("got %q", got)
	}
}

func TestCheckingAnUpgradeAllocatesNothing(t *testing.T) {
	h := request(t, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
	dst := make([]byte, 0, 256)
	allocs := testing.AllocsPerRun(100, func() {
		key, err := CheckUpgrade(h)
		if err != nil {
			t.Fatal(err)
		}
		dst = AppendSwitching(dst[:0], key)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
