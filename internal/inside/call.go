package inside

import (
	"bytes"
	"encoding/json"
	"net"
	"sync"
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

// departurePoll is how often a waiting call looks whether its client is still
// there. Nothing tells us: fasthttp does not read while it answers.
const departurePoll = time.Second

// call is one request that waits for its answer; it is the mux.Caller. Its
// request's goroutine owns it, except that Settle writes out and outcome before
// it signals done, and touches nothing after.
type call struct {
	done  chan struct{} // of capacity 1
	told  chan ending   // of capacity 1; sent under Face.mu while the call is entered
	timer *time.Timer

	id      []byte // the request's, borrowed
	out     []byte // what the response is appended to
	outcome mux.Outcome
}

var idleCalls = sync.Pool{New: func() any {
	c := &call{done: make(chan struct{}, 1), told: make(chan ending, 1), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c
}}

func takeCall(id, out []byte) *call {
	c := idleCalls.Get().(*call)
	c.id, c.out = id, out
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
	c.id, c.out = nil, nil
	idleCalls.Put(c)
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
	switch {
	case s.Outcome != mux.Answered:
		fault := faultOf(s)
		c.out = codec.AppendErrorResponse(c.out, c.id, fault.Append(nil))
	case s.Answer.Tag == codec.TagError:
		c.out = codec.AppendErrorResponse(c.out, c.id, s.Answer.Body)
	default:
		c.out = codec.AppendResponse(c.out, c.id, s.Answer.Body)
	}
	c.outcome = s.Outcome
	c.done <- struct{}{}
}

// wait waits until the ask has ended for its client, however long that takes.
func (c *call) wait(ask *mux.Ask, conn net.Conn) ending {
	var client *sock.Conn // made once needed: most answers come sooner
	c.timer.Reset(departurePoll)
	for {
		select {
		case <-c.done:
			return callSettled
		case why := <-c.told:
			return c.abandon(ask, why)
		case <-c.timer.C:
			if client == nil {
				client = sock.Wrap(conn)
			}
			if client.Departed() {
				return c.abandon(ask, callLeft)
			}
			c.timer.Reset(departurePoll)
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
