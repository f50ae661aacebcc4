package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/diverge-network/gateway/test/interop/report"
)

func (e *endpoint) ping(ctx context.Context) error {
	a, err := e.ask(ctx, "1", "ping", nil)
	if err != nil {
		return err
	}
	if e.modern() {
		if err := a.refused(http.StatusNotFound, -32601); err != nil {
			return err
		}
		return report.Absence("removed in 2026-07-28")
	}
	if a.status != http.StatusOK || string(a.last().Result) != "{}" {
		return fmt.Errorf("ping: %s", a)
	}
	return nil
}

func (e *endpoint) unknown(ctx context.Context) error {
	status := http.StatusOK
	if e.modern() {
		status = http.StatusNotFound
	}
	for _, method := range []string{"prompts/list", "completion/complete", "made/up"} {
		a, err := e.ask(ctx, "1", method, object{})
		if err == nil {
			err = a.refused(status, -32601)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	return nil
}

func (e *endpoint) version(ctx context.Context) error {
	if e.older("2025-06-18") {
		return report.Absence("the header came with 2025-06-18")
	}
	h := e.headers("tools/list", nil)
	h.Set("Mcp-Protocol-Version", "2001-01-01")
	a, err := e.post(ctx, h, e.body("1", "tools/list", object{}))
	if err != nil {
		return err
	}
	if !e.modern() {
		if a.status != http.StatusBadRequest {
			return fmt.Errorf("want HTTP 400, got %s", a)
		}
		return nil
	}
	if err := a.refused(http.StatusBadRequest, -32020); err != nil {
		return fmt.Errorf("header and body differ: %w", err)
	}
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		params := tool("echo", object{"text": ""})
		h := e.headers("tools/call", params)
		h.Del(name)
		a, err := e.post(ctx, h, e.body("1", "tools/call", params))
		if err == nil {
			err = a.refused(http.StatusBadRequest, -32020)
		}
		if err != nil {
			return fmt.Errorf("without %s: %w", name, err)
		}
	}
	return e.unsupported(ctx)
}

// unsupported asks in a revision that does not exist.
func (e *endpoint) unsupported(ctx context.Context) error {
	future := &endpoint{url: e.url, revision: "2999-01-01"}
	h := e.headers("tools/list", nil)
	h.Set("Mcp-Protocol-Version", future.revision)
	a, err := e.post(ctx, h, message("1", "tools/list", object{"_meta": claims(future.revision)}))
	if err != nil {
		return err
	}
	if err := a.refused(http.StatusBadRequest, -32022); err != nil {
		return err
	}
	var data struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}
	if err := json.Unmarshal(a.last().Error.Data, &data); err != nil {
		return err
	}
	if !slices.Contains(data.Supported, modern) || data.Requested != future.revision {
		return fmt.Errorf("the error's data is %s", a.last().Error.Data)
	}
	return nil
}

func (e *endpoint) media(ctx context.Context) error {
	body := e.body("1", "tools/list", object{})
	for _, wrong := range []struct {
		header, value string
		status        int
	}{
		{"Content-Type", "text/plain", http.StatusUnsupportedMediaType},
		{"Accept", "application/json", http.StatusNotAcceptable},
	} {
		h := e.headers("tools/list", nil)
		h.Set(wrong.header, wrong.value)
		a, err := e.post(ctx, h, body)
		if err != nil {
			return err
		}
		if a.status != wrong.status {
			return fmt.Errorf("%s: %s: want HTTP %d, got %s", wrong.header, wrong.value, wrong.status, a)
		}
	}
	return nil
}

func (e *endpoint) origin(ctx context.Context) error {
	for origin, status := range map[string]int{"https://evil.example.com": http.StatusForbidden, "http://localhost:1": http.StatusOK} {
		h := e.headers("tools/list", nil)
		h.Set("Origin", origin)
		a, err := e.post(ctx, h, e.body("1", "tools/list", object{}))
		if err != nil {
			return err
		}
		if a.status != status {
			return fmt.Errorf("from %s: want HTTP %d, got %s", origin, status, a)
		}
	}
	return nil
}

// sessions is the last check: it ends the session.
func (e *endpoint) sessions(ctx context.Context) error {
	if e.modern() {
		a, err := e.ask(ctx, "1", "tools/list", object{})
		if err != nil {
			return err
		}
		if id := a.header.Get("Mcp-Session-Id"); id != "" {
			return fmt.Errorf("a session id was issued: %s", id)
		}
		return report.Absence("2026-07-28 is stateless")
	}
	for session, status := range map[string]int{"": http.StatusBadRequest, "another": http.StatusNotFound} {
		stranger := *e
		stranger.session = session
		a, err := stranger.ask(ctx, "1", "tools/list", object{})
		if err != nil {
			return err
		}
		if a.status != status {
			return fmt.Errorf("session %q: want HTTP %d, got %s", session, status, a)
		}
	}
	res, err := e.send(ctx, http.MethodDelete, e.headers("", nil), nil)
	if err != nil {
		return err
	}
	ended, err := read(res)
	if err != nil {
		return err
	}
	if ended.status != http.StatusOK && ended.status != http.StatusNoContent {
		return fmt.Errorf("DELETE: %s", ended)
	}
	a, err := e.ask(ctx, "1", "tools/list", object{})
	if err != nil {
		return err
	}
	if a.status != http.StatusNotFound || a.last().ID != nil {
		return fmt.Errorf("the ended session: want HTTP 404 without an id, got %s", a)
	}
	return nil
}
