package inside

import (
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
)

// firstTokens is below what the first token of a container is. Tokens count up
// from there: for as long as anything runs they stay in what a double can hold.
const firstTokens = 1 << 40

// tokens are the progress tokens that one container's calls have on the wire.
// Clients choose small integers, each anew from 1; so that no two meet, each call
// that wants progress is given a token of its own, which names it.
type tokens struct {
	mu sync.Mutex // guards what follows; a leaf

	last      int64                // that was made; 0: none yet
	listeners map[string]*listener // by raw token; made when first needed
}

// mint makes a token.
func (t *tokens) mint() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == 0 {
		t.last = rand.Int64N(firstTokens)
	}
	t.last++
	return strconv.AppendInt(nil, t.last, 10)
}

// listen has l hear what comes for its token.
func (t *tokens) listen(l *listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listeners == nil {
		t.listeners = make(map[string]*listener, 1)
	}
	t.listeners[string(l.wire)] = l
}

// forget ends that.
func (t *tokens) forget(l *listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.listeners, string(l.wire)); len(t.listeners) == 0 {
		t.listeners = nil
	}
}

// find returns who asked for a progress notification, or nil.
func (t *tokens) find(n codec.Notification) *listener {
	if n.Params == nil {
		return nil
	}
	token, err := codec.Member(n.Params, "progressToken")
	if err != nil || token == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listeners[string(token)]
}
