package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Initialize is the body of a client's first request.
const Initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// Initialized is the body of the notification that follows it.
const Initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

const upgradeHeaders = " HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// Upgrade is the request for a WebSocket.
func Upgrade(path string) []byte { return AppendUpgrade(nil, []byte(path)) }

// AppendUpgrade appends it.
func AppendUpgrade(dst, path []byte) []byte {
	return append(append(append(dst, "GET "...), path...), upgradeHeaders...)
}

// Post is a client's request; session may be empty, and headers are whole lines.
func Post(path, session, body string, headers ...string) []byte {
	if session != "" {
		headers = append(headers, "Mcp-Session-Id: "+session)
	}
	extra := ""
	for _, h := range headers {
		extra += h + "\r\n"
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
		path, extra, len(body), body)
}

// Listen is the request for a session's event stream.
func Listen(path, session string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", path, session)
}

// Delete is the request that ends a session.
func Delete(path, session string) []byte {
	return fmt.Appendf(nil, "DELETE %s HTTP/1.1\r\nHost: 127.0.0.1\r\nMcp-Session-Id: %s\r\n\r\n", path, session)
}

// ToolCall is the body of a tools/call whose params are about 200 bytes, and the whole about 256.
func ToolCall(id int) string {
	return ToolCallOf(id, "echo", `{"message":"`+strings.Repeat("y", 150)+`"}`)
}

// ToolCallOf is the body of a tools/call.
func ToolCallOf(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, id, tool, arguments)
}

// HeadEnds tells whether b holds a whole head.
func HeadEnds(b []byte) bool { return bytes.Contains(b, []byte("\r\n\r\n")) }

// Whole tells whether b holds a whole HTTP response, with a length or chunked.
func Whole(b []byte) bool {
	var r Reply
	_, whole, err := r.Feed(b)
	return whole || err != nil
}

// Header is the value of a response's header, or empty.
func Header(response []byte, name string) string {
	for line := range strings.Lines(string(response)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.EqualFold(k, name) {
			return strings.TrimSpace(v)
		}
		if line == "\r\n" {
			break
		}
	}
	return ""
}

// Status is a response's status, or 0.
func Status(response []byte) int {
	if len(response) < 12 || !bytes.HasPrefix(response, []byte("HTTP/1.")) {
		return 0
	}
	n, _ := strconv.Atoi(string(response[9:12]))
	return n
}
