package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/diverge-network/gateway/test/interop/report"
)

func (e *endpoint) handshake(ctx context.Context) error {
	if e.modern() {
		return e.discover(ctx)
	}
	params := object{"protocolVersion": e.revision, "capabilities": object{}, "clientInfo": object{"name": "wire", "version": "1"}}
	a, err := e.ask(ctx, "0", "initialize", params)
	if err != nil {
		return err
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
		ServerInfo      object `json:"serverInfo"`
	}
	if err := json.Unmarshal(a.last().Result, &result); err != nil || a.status != http.StatusOK {
		return fmt.Errorf("initialize: %s", a)
	}
	if result.ProtocolVersion != e.revision || result.ServerInfo["name"] == nil {
		return fmt.Errorf("initialize: asked for %s, got %s", e.revision, a)
	}
	e.session = a.header.Get("Mcp-Session-Id")
	a, err = e.ask(ctx, "", "notifications/initialized", nil)
	if err != nil {
		return err
	}
	if a.status != http.StatusAccepted || a.body != "" {
		return fmt.Errorf("notifications/initialized: want 202 and nothing, got %s", a)
	}
	return nil
}

func (e *endpoint) discover(ctx context.Context) error {
	result, err := e.result(ctx, "0", "server/discover", object{})
	if err != nil {
		return err
	}
	supported, _ := result["supportedVersions"].([]any)
	if len(supported) != len(revisions) || supported[0] != any(modern) {
		return fmt.Errorf("supportedVersions is %v", supported)
	}
	if _, ok := result["serverInfo"]; ok {
		return fmt.Errorf("serverInfo is not in _meta: %v", result)
	}
	return hinted(result, true)
}

func (e *endpoint) list(ctx context.Context) error {
	pages, tools := 0, map[any]bool{}
	for params := (object{}); ; {
		result, err := e.result(ctx, fmt.Sprintf(`"page %d"`, pages), "tools/list", params)
		if err != nil {
			return err
		}
		pages++
		list, _ := result["tools"].([]any)
		for _, t := range list {
			tools[t.(object)["name"]] = true
		}
		cursor, more := result["nextCursor"]
		if !more {
			break
		}
		params = object{"cursor": cursor}
	}
	if pages < 3 || len(tools) < 31 {
		return fmt.Errorf("%d tools on %d pages", len(tools), pages)
	}
	return nil
}

func (e *endpoint) call(ctx context.Context) error {
	for _, id := range []string{`0`, `""`, `-7`, `9007199254740993`, `"h\u00e9\ud83d\ude42"`, `"7"`} {
		const said = "\u2028 \"quoted\" 🙂"
		text, err := e.text(ctx, id, "echo", object{"text": said})
		if err != nil {
			return err
		}
		if text != said {
			return fmt.Errorf("%q came back as %q", said, text)
		}
	}
	return nil
}

func (e *endpoint) read(ctx context.Context) error {
	result, err := e.result(ctx, "1", "resources/read", object{"uri": "text://7"})
	if err != nil {
		return err
	}
	if contents, _ := result["contents"].([]any); len(contents) != 1 {
		return fmt.Errorf("text://7 is %v", result)
	}
	a, err := e.ask(ctx, "2", "resources/read", object{"uri": "text://none"})
	if err != nil {
		return err
	}
	if codes := []int{-32002, -32602}; a.status != http.StatusOK || !slices.Contains(codes, a.code()) || e.modern() && a.code() != -32602 {
		return fmt.Errorf("text://none: %s", a)
	}
	return nil
}

func (e *endpoint) templates(ctx context.Context) error {
	result, err := e.result(ctx, "1", "resources/templates/list", object{})
	if err != nil {
		return err
	}
	if list, ok := result["resourceTemplates"].([]any); !ok || len(list) != 0 {
		return fmt.Errorf("resourceTemplates: %v", result)
	}
	return nil
}

func (e *endpoint) hints(ctx context.Context) error {
	if !e.modern() {
		return report.Absence("new in 2026-07-28")
	}
	for _, ask := range []struct {
		method    string
		params    object
		cacheable bool
	}{
		{"tools/list", object{}, true},
		{"resources/list", object{}, true},
		{"resources/templates/list", object{}, true},
		{"resources/read", object{"uri": "text://1"}, true},
		{"tools/call", tool("echo", object{"text": ""}), false},
	} {
		result, err := e.result(ctx, "1", ask.method, ask.params)
		if err != nil {
			return err
		}
		if err := hinted(result, ask.cacheable); err != nil {
			return fmt.Errorf("%s: %w", ask.method, err)
		}
	}
	return nil
}

// hinted wants what a stateless result has to say of itself.
func hinted(result object, cacheable bool) error {
	ttl, timed := result["ttlMs"].(float64)
	scope, scoped := result["cacheScope"].(string)
	meta, _ := result["_meta"].(object)
	server, _ := meta["io.modelcontextprotocol/serverInfo"].(object)
	switch {
	case result["resultType"] != any("complete"):
		return fmt.Errorf("resultType is %v", result["resultType"])
	case cacheable && (!timed || ttl < 0 || scope != "private" && scope != "public"):
		return fmt.Errorf("ttlMs is %v, cacheScope %v", result["ttlMs"], result["cacheScope"])
	case !cacheable && (timed || scoped):
		return fmt.Errorf("ttlMs and cacheScope do not belong here")
	case server["name"] == nil || server["version"] == nil:
		return fmt.Errorf("_meta does not say who served: %v", meta)
	}
	return nil
}
