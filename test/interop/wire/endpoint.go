package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// endpoint is the gateway's endpoint, in one revision and, where that has sessions, in one session.
type endpoint struct {
	url      string
	revision string
	session  string
}

func (e *endpoint) modern() bool { return e.revision == modern }

// older tells whether the revision is from before other.
func (e *endpoint) older(other string) bool { return e.revision < other }

// object is a JSON object.
type object = map[string]any

// claims are the members of _meta by which a stateless request says what it is.
func claims(revision string) object {
	return object{
		"io.modelcontextprotocol/protocolVersion":    revision,
		"io.modelcontextprotocol/clientInfo":         object{"name": "wire", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": object{},
	}
}

// body is a request in the endpoint's revision; id is raw JSON, empty for a notification.
func (e *endpoint) body(id, method string, params object) []byte {
	if e.modern() && id != "" {
		whole := object{}
		for name, value := range params {
			whole[name] = value
		}
		meta := claims(e.revision)
		if own, ok := params["_meta"].(object); ok {
			for name, value := range own {
				meta[name] = value
			}
		}
		whole["_meta"] = meta
		params = whole
	}
	return message(id, method, params)
}

func message(id, method string, params object) []byte {
	m := object{"jsonrpc": "2.0", "method": method}
	if id != "" {
		m["id"] = json.RawMessage(id)
	}
	if params != nil {
		m["params"] = params
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // they are made of strings and numbers
	}
	return b
}

// headers are those that the endpoint's revision asks for with a request.
func (e *endpoint) headers(method string, params object) http.Header {
	h := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json, text/event-stream"},
	}
	if e.session != "" {
		h.Set("Mcp-Session-Id", e.session)
	}
	if !e.older("2025-06-18") && (e.session != "" || e.modern()) {
		h.Set("Mcp-Protocol-Version", e.revision)
	}
	if e.modern() {
		h.Set("Mcp-Method", method)
		for _, name := range []string{"name", "uri"} {
			if value, ok := params[name].(string); ok {
				h.Set("Mcp-Name", value)
			}
		}
	}
	return h
}

// send sends one HTTP request whose response is the caller's to close.
func (e *endpoint) send(ctx context.Context, verb string, h http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, verb, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = h
	return http.DefaultClient.Do(req)
}

// post posts body and reads the whole response.
func (e *endpoint) post(ctx context.Context, h http.Header, body []byte) (answer, error) {
	res, err := e.send(ctx, http.MethodPost, h, body)
	if err != nil {
		return answer{}, err
	}
	return read(res)
}

// ask makes a request in the endpoint's revision.
func (e *endpoint) ask(ctx context.Context, id, method string, params object) (answer, error) {
	return e.post(ctx, e.headers(method, params), e.body(id, method, params))
}

// result makes a request that has to succeed.
func (e *endpoint) result(ctx context.Context, id, method string, params object) (object, error) {
	a, err := e.ask(ctx, id, method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	last := a.last()
	if a.status != http.StatusOK || last.Result == nil {
		return nil, fmt.Errorf("%s: %s", method, a)
	}
	if string(last.ID) != id {
		return nil, fmt.Errorf("%s: the id %s came back as %s", method, id, last.ID)
	}
	var result object
	if err := json.Unmarshal(last.Result, &result); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return result, nil
}

func tool(name string, arguments object) object {
	return object{"name": name, "arguments": arguments}
}

// text calls a tool whose answer is one text.
func (e *endpoint) text(ctx context.Context, id, name string, arguments object) (string, error) {
	result, err := e.result(ctx, id, "tools/call", tool(name, arguments))
	if err != nil {
		return "", err
	}
	return textOf(result)
}

func textOf(result object) (string, error) {
	contents, _ := result["content"].([]any)
	if len(contents) != 1 {
		return "", fmt.Errorf("the result has no single content: %v", result)
	}
	content, _ := contents[0].(object)
	text, ok := content["text"].(string)
	if !ok {
		return "", fmt.Errorf("the content is no text: %v", content)
	}
	return text, nil
}

func isEventStream(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/event-stream")
}
