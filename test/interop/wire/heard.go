package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/diverge-network/gateway/test/interop/report"
)

const listChanged = "notifications/tools/list_changed"

func (e *endpoint) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := e.headers("", nil)
	h.Set("Accept", "text/event-stream")
	h.Del("Content-Type")
	h.Del("Mcp-Method")
	res, err := e.send(ctx, http.MethodGet, h, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if e.modern() {
		if res.StatusCode < 400 || res.StatusCode >= 500 {
			return fmt.Errorf("GET without a session: HTTP %d", res.StatusCode)
		}
		return report.Absence("removed in 2026-07-28")
	}
	if res.StatusCode != http.StatusOK || !isEventStream(res.Header) {
		return fmt.Errorf("GET: HTTP %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	heard := make(chan rpc, 16)
	go listen(ctx, res, heard)
	_, err = e.hear(ctx, heard, listChanged)
	return err
}

// listen gives the messages of an event stream until it or ctx ends.
func listen(ctx context.Context, res *http.Response, heard chan<- rpc) {
	defer close(heard)
	_ = events(res.Body, func(m rpc) bool {
		select {
		case heard <- m:
			return true
		case <-ctx.Done():
			return false
		}
	})
}

// hear adds a tool until a notification of it is heard: nothing is replayed.
func (e *endpoint) hear(ctx context.Context, heard <-chan rpc, method string) (rpc, error) {
	for range 10 {
		if _, err := e.text(ctx, `"grow"`, "grow", object{}); err != nil {
			return rpc{}, err
		}
		select {
		case m, ok := <-heard:
			if !ok {
				return m, errors.New("the event stream ended")
			}
			if m.Method != method {
				return m, fmt.Errorf("heard %s instead of %s", m.Method, method)
			}
			return m, nil
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return rpc{}, fmt.Errorf("%s was not heard", method)
}

func (e *endpoint) subscribe(ctx context.Context) error {
	const id = `"listen:0"`
	params := object{"notifications": object{"toolsListChanged": true, "promptsListChanged": true}}
	if !e.modern() {
		a, err := e.ask(ctx, id, "subscriptions/listen", params)
		if err == nil {
			err = a.refused(http.StatusOK, -32601)
		}
		if err != nil {
			return err
		}
		return report.Absence("new in 2026-07-28")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := e.send(ctx, http.MethodPost, e.headers("subscriptions/listen", params), e.body(id, "subscriptions/listen", params))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !isEventStream(res.Header) {
		a, err := read(res)
		return errors.Join(fmt.Errorf("subscriptions/listen: %s", a), err)
	}
	heard := make(chan rpc, 16)
	go listen(ctx, res, heard)
	var first rpc
	select {
	case first = <-heard:
	case <-ctx.Done():
		return errors.New("the subscription was not acknowledged")
	}
	var honoured struct {
		Notifications object `json:"notifications"`
	}
	if err := json.Unmarshal(first.Params, &honoured); err != nil || first.Method != "notifications/subscriptions/acknowledged" {
		return fmt.Errorf("the first message is %s %s", first.Method, first.Params)
	}
	if n := honoured.Notifications; len(n) != 1 || n["toolsListChanged"] != any(true) {
		return fmt.Errorf("honoured is %v", n)
	}
	changed, err := e.hear(ctx, heard, listChanged)
	if err != nil {
		return err
	}
	for _, m := range []rpc{first, changed} {
		var params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		if err := json.Unmarshal(m.Params, &params); err != nil {
			return err
		}
		if got := string(params.Meta["io.modelcontextprotocol/subscriptionId"]); got != id {
			return fmt.Errorf("%s: subscriptionId is %s instead of %s", m.Method, got, id)
		}
	}
	return nil
}
