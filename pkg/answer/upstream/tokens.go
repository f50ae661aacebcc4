package upstream

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
)

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

// issue gives a call of a container's a token of ours for its own, which is borrowed. forget ends its validity, with the call.
func (t *tokens) issue(s *seat, raw []byte) (ours []byte, forget func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	id := t.last
	t.waiting[id] = token{s, bytes.Clone(raw)}
	return strconv.AppendUint(nil, id, 10), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, id)
	}
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
	params, err = codec.AppendWithMember(nil, params, "progressToken", known.raw)
	if err != nil {
		return nil, nil
	}
	return known.seat, params
}
