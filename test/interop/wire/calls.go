package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/diverge-network/gateway/test/interop/report"
)

// progress makes two calls at once, from two clients where there are sessions, with one and the same token and with a string.
func (e *endpoint) progress(ctx context.Context) error {
	other := &endpoint{url: e.url, revision: e.revision}
	if err := other.handshake(ctx); err != nil {
		return err
	}
	var wrong [3]error
	var all sync.WaitGroup
	for i, call := range []struct {
		from  *endpoint
		token string
	}{{e, `1`}, {other, `1`}, {e, `"1"`}} {
		all.Go(func() {
			params := tool("progress", object{"steps": 5})
			params["_meta"] = object{"progressToken": json.RawMessage(call.token)}
			a, err := call.from.ask(ctx, strconv.Itoa(i+1), "tools/call", params)
			if err != nil {
				wrong[i] = err
				return
			}
			wrong[i] = stepped(a, call.token)
		})
	}
	all.Wait()
	return errors.Join(wrong[:]...)
}

// stepped wants five steps of progress with the token, and then the result.
func stepped(a answer, token string) error {
	if !a.streamed || len(a.messages) != 6 || a.last().Result == nil {
		return fmt.Errorf("want an event stream of 5 notifications and the result, got %d messages in %s", len(a.messages), a)
	}
	for i, m := range a.messages[:5] {
		var params struct {
			ProgressToken json.RawMessage `json:"progressToken"`
			Progress      float64         `json:"progress"`
		}
		if err := json.Unmarshal(m.Params, &params); err != nil {
			return err
		}
		if m.Method != "notifications/progress" || string(params.ProgressToken) != token || params.Progress != float64(i+1) {
			return fmt.Errorf("step %d of token %s is %s %s", i+1, token, m.Method, m.Params)
		}
	}
	return nil
}

// begin makes a slow call and waits for the head of its response, which is an event stream since the call lasts.
func (e *endpoint) begin(ctx context.Context, id string) (*http.Response, error) {
	params := tool("slow", object{})
	res, err := e.send(ctx, http.MethodPost, e.headers("tools/call", params), e.body(id, "tools/call", params))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK || !isEventStream(res.Header) {
		a, err := read(res)
		return nil, errors.Join(fmt.Errorf("slow: %s", a), err)
	}
	return res, nil
}

func (e *endpoint) long(ctx context.Context) error {
	before, err := e.cancelled(ctx)
	if err != nil {
		return err
	}
	broken, leave := context.WithCancel(ctx)
	defer leave()
	res, err := e.begin(broken, `"long"`)
	if err != nil {
		return err
	}
	if !e.modern() {
		_, err = e.ask(ctx, "", "notifications/cancelled", object{"requestId": "long"})
	}
	leave()
	_ = res.Body.Close()
	// The checks of cancellation count on that nothing else is cancelled meanwhile.
	return errors.Join(err, e.oneMore(ctx, before))
}

func (e *endpoint) batch(ctx context.Context) error {
	body := []byte(fmt.Sprintf("[%s,%s,%s]", message("1", "ping", nil), message("", "notifications/initialized", nil),
		e.body(`"two"`, "tools/call", tool("echo", object{"text": "in a batch"}))))
	h := e.headers("tools/call", nil)
	a, err := e.post(ctx, h, body)
	if err != nil {
		return err
	}
	if !e.older("2025-06-18") {
		if err := a.refused(http.StatusBadRequest, -32600); err != nil {
			return err
		}
		return report.Absence("removed in 2025-06-18")
	}
	if a.status != http.StatusOK || !a.array && !a.streamed || len(a.messages) != 2 {
		return fmt.Errorf("want 2 answers in an array or a stream, got %s", a)
	}
	answered := map[string]bool{}
	for _, m := range a.messages {
		answered[string(m.ID)] = m.Result != nil
	}
	if !answered["1"] || !answered[`"two"`] {
		return fmt.Errorf("the answers are %s", a)
	}
	a, err = e.post(ctx, h, []byte(fmt.Sprintf("[%s]", message("", "notifications/initialized", nil))))
	if err == nil && (a.status != http.StatusAccepted || a.body != "") {
		err = fmt.Errorf("want 202 and nothing for notifications alone, got %s", a)
	}
	return err
}

func (e *endpoint) cancel(ctx context.Context) error {
	if e.modern() {
		a, err := e.ask(ctx, "", "notifications/cancelled", object{"requestId": 1})
		if err == nil && a.status != http.StatusAccepted {
			err = fmt.Errorf("want 202 for the notification, which means nothing, got %s", a)
		}
		if err != nil {
			return err
		}
		return report.Absence("over HTTP, 2026-07-28 cancels by closing the stream")
	}
	before, err := e.cancelled(ctx)
	if err != nil {
		return err
	}
	res, err := e.begin(ctx, `"cancel me"`)
	if err != nil {
		return err
	}
	note, err := e.ask(ctx, "", "notifications/cancelled", object{"requestId": "cancel me", "reason": "checked"})
	if err != nil {
		return err
	}
	a, err := read(res)
	if err != nil {
		return err
	}
	if note.status != http.StatusAccepted || len(a.messages) != 0 {
		return fmt.Errorf("the notification: %s; the response: %s", note, a)
	}
	return e.oneMore(ctx, before)
}

func (e *endpoint) disconnect(ctx context.Context) error {
	if !e.modern() {
		return report.Absence("a connection that ends is no cancellation before 2026-07-28")
	}
	before, err := e.cancelled(ctx)
	if err != nil {
		return err
	}
	broken, leave := context.WithCancel(ctx)
	defer leave()
	res, err := e.begin(broken, "1")
	if err != nil {
		return err
	}
	leave()
	_ = res.Body.Close()
	return e.oneMore(ctx, before)
}

// cancelled is how many slow calls the server knows to be cancelled.
func (e *endpoint) cancelled(ctx context.Context) (int, error) {
	text, err := e.text(ctx, `"how many"`, "cancelled", object{})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

func (e *endpoint) oneMore(ctx context.Context, before int) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(atOnce); time.Now().Before(deadline); <-tick.C {
		after, err := e.cancelled(ctx)
		switch {
		case err != nil || after == before+1:
			return err
		case after != before:
			return fmt.Errorf("the server heard of %d cancellations, not of one", after-before)
		}
	}
	return errors.New("the server did not hear of the cancellation")
}
