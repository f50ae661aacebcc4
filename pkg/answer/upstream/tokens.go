package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
)

const codeInvalidParams = -32602

// tokens stands our progress tokens in for those of many containers, which know nothing of each other. Ours are integers,
// as the official SDKs' clients send them, and never used twice.
type tokens struct {
	mu      sync.Mutex // a leaf
	last    uint64
	waiting map[uint64]token
}

// token is the progress token of a call that waits for its answer.
type token struct {
	seat *seat
	raw  []byte // as the caller wrote it
}

// replace puts a token of ours in place of the one in params._meta, if there is one. forget ends its validity, with the
// call. params are borrowed.
func (t *tokens) replace(s *seat, params []byte) (ours []byte, forget func(), err error) {
	meta, err := codec.Member(params, "_meta")
	if err != nil {
		return nil, nil, &codec.Error{Code: codeInvalidParams, Message: err.Error()}
	}
	if meta == nil || meta[0] != '{' {
		return params, func() {}, nil
	}
	raw, err := codec.Member(meta, "progressToken")
	if err != nil {
		return nil, nil, &codec.Error{Code: codeInvalidParams, Message: "_meta: " + err.Error()}
	}
	if raw == nil || !isToken(raw) {
		return params, func() {}, nil // the server will say what it thinks of that
	}
	t.mu.Lock()
	t.last++
	id := t.last
	t.waiting[id] = token{s, bytes.Clone(raw)}
	t.mu.Unlock()
	forget = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, id)
	}
	meta, err = withMember(meta, "progressToken", strconv.AppendUint(nil, id, 10))
	if err == nil {
		ours, err = withMember(params, "_meta", meta)
	}
	if err != nil {
		forget()
		return nil, nil, err
	}
	return ours, forget, nil
}

// restore puts the caller's token back into the params of a progress notification. A nil seat: no call waits under that
// token.
func (t *tokens) restore(params []byte) (*seat, []byte) {
	raw, err := codec.Member(params, "progressToken")
	if err != nil || raw == nil {
		return nil, nil
	}
	id, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		return nil, nil
	}
	t.mu.Lock()
	known, ok := t.waiting[id]
	t.mu.Unlock()
	if !ok {
		return nil, nil
	}
	params, err = withMember(params, "progressToken", known.raw)
	if err != nil {
		return nil, nil
	}
	return known.seat, params
}

// isToken reports whether a value can be a progress token, a string or a number.
func isToken(value []byte) bool {
	c := value[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9'
}

// withMember is a JSON object with another value for a member that it has; the rest stays byte for byte. The object is one
// that codec.Member has accepted.
func withMember(object []byte, name string, value []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	for dec.More() {
		got, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("reading a name: %w", err)
		}
		var old json.RawMessage
		if err := dec.Decode(&old); err != nil {
			return nil, fmt.Errorf("reading a value: %w", err)
		}
		if got == name {
			end := int(dec.InputOffset())
			return slices.Concat(object[:end-len(old)], value, object[end:]), nil
		}
	}
	return nil, fmt.Errorf("there is no member %s", name)
}
