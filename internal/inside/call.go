package inside

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// callKey names a call in flight. Ids are unique within a session only: two
// clients that both use 1 never meet.
type callKey struct {
	session sessionID
	id      string
}

// keyOf makes the key of a request's id, raw JSON. A string counts by what it
// says, however it is escaped.
func keyOf(s sessionID, id []byte) callKey {
	if bytes.IndexByte(id, '\\') >= 0 {
		var plain string
		if json.Unmarshal(id, &plain) == nil {
			return callKey{s, `"` + plain + `"`}
		}
	}
	return callKey{s, string(id)}
}

// ending is why a call stopped waiting for its answer.
type ending uint8

const (
	callSettled   ending = iota // package mux told how it ended
	callCancelled               // the client cancelled it (protocol A10)
	callEnded                   // its session was ended
	callLeft                    // its client's connection ended (protocol A10)
)

// How often a waiting call looks whether its client is still there: soon at
// first, then half as often each time. Nothing tells us, as nobody reads.
const (
	firstLook     = 50 * time.Millisecond
	departurePoll = time.Second
)

// call is one request that waits for its answer; it is the mux.Caller. Its
// request's goroutine owns it, except that Settle writes out and outcome before
// it signals done, and touches nothing after.
type call struct {
	done  chan struct{} // of capacity 1
	told  chan ending   // of capacity 1; sent under Face.mu while the call is entered
	timer *time.Timer

	// client is the connection that waits; nil while the call is in the pool.
	// Anybody may look at it: who asks too late asks about another request, and
	// the answer is of no use to it, but never of harm.
	client atomic.Pointer[sock.Conn]

	id      []byte        // the request's, borrowed
	out     *codec.Buffer // the response's body, once settled; for the exchange to take
	outcome mux.Outcome
	status  int
	handler *Handler
	asking  asking
}

var idleCalls = sync.Pool{New: func() any {
	c := &call{done: make(chan struct{}, 1), told: make(chan ending, 1), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c
}}

func takeCall(id []byte, client *sock.Conn) *call {
	c := idleCalls.Get().(*call)
	c.id = id
	c.client.Store(client)
	return c
}

// release gives the call back. It must be out of its Face, and Settle must have
// signalled or be ruled out.
func (c *call) release() {
	select {
	case <-c.told:
	default:
	}
	c.timer.Stop()
	c.client.Store(nil)
	c.id = nil
	idleCalls.Put(c)
}

// Gone implements mux.Leaver.
func (c *call) Gone() bool {
	client := c.client.Load()
	return client != nil && client.Departed()
}

// tell says that the call need not wait any longer. The first one counts.
func (c *call) tell(why ending) {
	select {
	case c.told <- why:
	default:
	}
}

// Settle implements mux.Caller: it splices the response together while the
// answer is ours to read.
func (c *call) Settle(s mux.Settlement) {
	c.out, c.status = c.handler.rendered(&c.asking, s)
	c.outcome = s.Outcome
	c.done <- struct{}{}
}

// wait waits until the ask has ended for its client, however long that takes.
func (c *call) wait(ask *mux.Ask) ending {
	look := firstLook
	c.timer.Reset(look)
	for {
		select {
		case <-c.done:
			return callSettled
		case why := <-c.told:
			return c.abandon(ask, why)
		case <-c.timer.C:
			if c.Gone() {
				return c.abandon(ask, callLeft)
			}
			look = min(2*look, departurePoll)
			c.timer.Reset(look)
		}
	}
}

// abandon leaves the ask behind, unless it is being settled at this moment.
func (c *call) abandon(ask *mux.Ask, why ending) ending {
	gone, outcome := false, mux.Left
	if why == callCancelled {
		gone, outcome = ask.Cancel(), mux.Cancelled
	} else {
		gone = ask.Leave()
	}
	if !gone {
		<-c.done
		return callSettled
	}
	c.outcome = outcome
	return why
}
