package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	sessions  = "2025-11-25"
	stateless = "2026-07-28"

	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"

	sessionHeader = "Mcp-Session-Id"
)

// arguments are what the one tool is called with.
type arguments struct {
	Say    string `json:"say"`
	Millis int    `json:"millis,omitempty"` // how long the tool takes
}

// params are a call's.
type params struct {
	Name      string         `json:"name"`
	Arguments arguments      `json:"arguments"`
	Meta      map[string]any `json:"_meta,omitempty"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type toolResult struct {
	Content []content `json:"content"`
}

func resultOf(said string) toolResult {
	return toolResult{Content: []content{{Type: "text", Text: answerTo(said)}}}
}

// statelessMeta is what a request of the stateless revision says of its client.
func statelessMeta() map[string]any {
	return map[string]any{
		"io.modelcontextprotocol/protocolVersion":    stateless,
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
}

// request is a JSON-RPC request.
func request(id uint64, method string, params any) []byte {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err) // there is nothing in it that cannot be encoded
	}
	return b
}

// httpRequest is a POST of body in bytes. A session of "" is the stateless revision's.
func httpRequest(container, session, method, name string, body []byte) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "POST /containers/%s/mcp HTTP/1.1\r\nHost: gateway\r\nContent-Type: %s\r\nAccept: %s, %s\r\nContent-Length: %d\r\n",
		container, mediaJSON, mediaJSON, mediaStream, len(body))
	switch {
	case session != "":
		fmt.Fprintf(&b, "%s: %s\r\n", sessionHeader, session)
	case method != "initialize":
		fmt.Fprintf(&b, "MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\nMcp-Name: %s\r\n", stateless, method, name)
	}
	b.WriteString("\r\n")
	return append([]byte(b.String()), body...)
}
