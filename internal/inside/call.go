package inside

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/diverge-network/gateway/internal/sock"
	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// callKey names a call of a session in flight. Ids are unique within a session
// only: two clients that both use 1 never meet.
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

// news is what a call has to say to its reply: once that it is settled, unless
// that was ruled out, and at most once that it need not wait any longer.
type news struct {
	call *call
	why  ending
}

// newsPerCall is for how much of it there has to be room, so that nobody waits.
const newsPerCall = 2

// call is one request that waits for its answer; it is the mux.Caller. Its
// reply's goroutine owns it, but for what is said of Settle and of tell.
type call struct {
	handler *Handler
	reply   *reply
	asking  *asking // borrowed, as what is in it
	key     callKey // of a legacy call
	slot    int     // whose response it is, in the reply
	ask     *mux.Ask
	began   time.Time

	payload  *codec.Buffer // that the ask borrows; nil where it is a view of the request
	listener *listener     // that hears its progress; nil if it wants none

	// client is the connection that waits; nil while the call is in the pool.
	// Anybody may look at it: who asks too late asks about another request, and
	// the answer is of no use to it, but never of harm.
	client atomic.Pointer[sock.Conn]

	entered bool // in its Face
	settled bool // the reply knows that it is
	over    bool // it waits no longer
	told    bool // guarded by Face.mu

	// Settle writes these, says so, and touches nothing after.
	out     *codec.Buffer // the response; nil if there is none
	status  int
	outcome mux.Outcome
}

// tableKey is under what its Face knows it.
func (c *call) tableKey() callKey { return c.key }

var idleCalls = sync.Pool{New: func() any { return new(call) }}

func takeCall(r *reply, a *asking) *call {
	c := idleCalls.Get().(*call)
	c.handler, c.reply, c.asking = r.handler, r, a
	c.client.Store(r.x.client.conn)
	return c
}

// release gives the call back. It must be out of its Face, and Settle must have
// said so or be ruled out.
func (c *call) release() {
	c.client.Store(nil)
	if c.out != nil {
		c.out.Release()
	}
	c.handler, c.reply, c.asking, c.key = nil, nil, nil, callKey{}
	c.ask, c.payload, c.listener, c.out = nil, nil, nil, nil
	c.slot, c.status, c.outcome = 0, 0, 0
	c.entered, c.settled, c.over, c.told = false, false, false, false
	idleCalls.Put(c)
}

// Gone implements mux.Leaver.
func (c *call) Gone() bool {
	client := c.client.Load()
	return client != nil && client.Departed()
}

// tell says that the call need not wait any longer. The first one counts. It is
// for who holds Face.mu, while the call is entered.
func (c *call) tell(why ending) {
	if c.told {
		return
	}
	c.told = true
	c.reply.news <- news{c, why}
	c.reply.hurry()
}

// Settle implements mux.Caller: it splices the response together while the
// answer is ours to read, and delivers it where that is left to it. Where it panics
// on the way, the client is told all the same.
func (c *call) Settle(s mux.Settlement) {
	c.outcome = s.Outcome
	delivered, client := false, c.reply.x.client
	defer func() {
		if !delivered {
			c.reply.news <- news{c, callSettled}
			client.callBack()
		}
	}()
	if c.asking.kind == codec.ListTools && s.Outcome == mux.Answered && s.Answer.Tag == codec.TagResult {
		c.reply.face.learn(c.asking.message.Params, s.Answer.Body)
	}
	c.out, c.status = c.handler.rendered(c.asking, s)
	c.afford(s.Frame)
	delivered = c.reply.deliver(c)
}

// abandon leaves the ask behind. It reports false if that is being settled at
// this moment: then there will be news of it.
func (c *call) abandon(why ending) bool {
	var gone bool
	outcome := mux.Left
	// Of the stateless revision, the closed stream is the cancellation.
	if why == callCancelled || c.asking.era == modern {
		gone, outcome = c.ask.Cancel(), mux.Cancelled
	} else {
		gone = c.ask.Leave()
	}
	if gone {
		c.outcome = outcome
	}
	return gone
}

// conclude makes the response of a call that is over. One that was cancelled has
// none.
func (c *call) conclude(why ending) {
	data := faultData{Reason: c.outcome.String()}
	switch {
	case why == callCancelled:
		return
	case why == callEnded:
		c.fail(fault("the session was ended while this request waited for its answer", data))
	case why == callLeft: // it may have ended its half only, and read on
		c.fail(fault("the client ended its connection while this request waited for its answer", data))
	case c.out == nil: // Settle panicked
		c.fail(fault("the gateway failed on the answer to this request: its log says why", data))
	}
}

func (c *call) fail(e codec.Error) {
	if c.out != nil {
		c.out.Release()
	}
	c.out, c.status = errorResponse(c.asking.message.ID, e.Append(nil)), fasthttp.StatusOK
}
