package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// rpc is one JSON-RPC message that came back.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int             `json:"code"`
		Data json.RawMessage `json:"data"`
	} `json:"error"`
}

// answer is a whole response.
type answer struct {
	status   int
	header   http.Header
	streamed bool
	array    bool
	messages []rpc
	body     string // for the errors
}

func (a answer) String() string {
	body := a.body
	if len(body) > 300 {
		body = body[:300] + "…"
	}
	return fmt.Sprintf("HTTP %d %s", a.status, body)
}

// last is the response itself, which comes last.
func (a answer) last() rpc {
	if len(a.messages) == 0 {
		return rpc{}
	}
	return a.messages[len(a.messages)-1]
}

func (a answer) code() int {
	if e := a.last().Error; e != nil {
		return e.Code
	}
	return 0
}

// refused wants the status and the JSON-RPC error that are given.
func (a answer) refused(status, code int) error {
	if a.status != status || a.code() != code {
		return fmt.Errorf("want HTTP %d with %d, got %s", status, code, a)
	}
	return nil
}

// read reads a response to its end.
func read(res *http.Response) (answer, error) {
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header, streamed: isEventStream(res.Header)}
	if a.streamed {
		err := events(res.Body, func(m rpc) bool {
			a.messages = append(a.messages, m)
			return true
		})
		return a, err
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	a.body = string(b)
	switch b = bytes.TrimSpace(b); {
	case len(b) == 0 || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json"):
		return a, nil
	case b[0] == '[':
		a.array = true
		return a, json.Unmarshal(b, &a.messages)
	}
	a.messages = make([]rpc, 1)
	return a, json.Unmarshal(b, &a.messages[0])
}

// events reads an event stream until it ends or each wants no more.
func events(r io.Reader, each func(rpc) bool) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 8<<20)
	for scanner.Scan() {
		line := scanner.Text()
		data, ok := strings.CutPrefix(line, "data:")
		switch {
		case line == "" || strings.HasPrefix(line, ":") || strings.HasPrefix(line, "event: message"):
			continue
		case !ok:
			return fmt.Errorf("the event stream has the line %q", line)
		}
		var m rpc
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			return fmt.Errorf("the event stream has %q: %w", data, err)
		}
		if !each(m) {
			return nil
		}
	}
	return scanner.Err()
}
