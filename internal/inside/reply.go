package inside

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
)

// Never as Config.SSEAfter keeps every response to a POST JSON.
const Never = mux.Never

// How often a waiting reply looks whether its client is still there: soon at
// first, then half as often each time. Nothing tells us, as nobody reads.
const (
	firstLook     = 50 * time.Millisecond
	departurePoll = time.Second
)

// How long an answer waits for the progress that came before it, and how often
// that is looked after: soon at first, then half as often each time.
const (
	drainTime  = time.Second
	firstDrain = 50 * time.Microsecond
)

// reply is the response to a POST whose requests go to the provider's server. It
// is JSON if that answers soon and says nothing before. Otherwise it becomes an
// event stream: its head goes out, progress follows as it comes, comments where
// nothing does, and the responses. Its request's goroutine owns it.
type reply struct {
	handler   *Handler
	x         *exchange
	container *mux.Container
	face      *Face
	began     time.Time

	news  chan news // with room for all that its calls have to say
	late  []news    // came in the midst of a write
	timer *time.Timer

	calls   []*call         // that were asked
	waiting int             // how many of them are not over
	outs    []*codec.Buffer // responses by slot; nil where there is none, or it is in the stream
	status  int             // of a single response
	queue   *queue          // nil: nobody wants progress
	done    bool            // wait has returned
	plain   bool            // the response may not become an event stream: there are too many

	// stream is x.events, for who hurries it.
	stream atomic.Pointer[eventBody]

	look           time.Duration
	lookAt, beatAt time.Time

	pooled bool
	call   [1]*call
	out    [1]*codec.Buffer
}

var idleReplies = sync.Pool{New: func() any {
	r := newReply(1)
	r.pooled, r.calls, r.outs = true, r.call[:0], r.out[:]
	return r
}}

func newReply(n int) *reply {
	r := &reply{news: make(chan news, newsPerCall*n), timer: time.NewTimer(time.Hour)}
	r.timer.Stop()
	return r
}

// takeReply is a reply of one response.
func (h *Handler) takeReply(x *exchange, c *mux.Container) *reply {
	r := idleReplies.Get().(*reply)
	r.begin(h, x, c)
	return r
}

// batchReply is a reply of so many responses.
func (h *Handler) batchReply(x *exchange, c *mux.Container, n int) *reply {
	r := newReply(n)
	r.calls, r.outs = make([]*call, 0, n), make([]*codec.Buffer, n)
	r.begin(h, x, c)
	return r
}

func (r *reply) begin(h *Handler, x *exchange, c *mux.Container) {
	r.handler, r.x, r.container, r.face = h, x, c, c.Sink().(*Face)
	r.began = time.Now()
}

// release gives the reply and its calls back. What a panic left behind is used by
// nobody again.
func (r *reply) release() {
	r.timer.Stop()
	if r.x.events != nil {
		r.x.events.attend = nil // the rest is written when r is another's
	}
	if !r.done {
		r.abort()
		return
	}
	for i, c := range r.calls {
		c.release()
		r.calls[i] = nil
	}
	for len(r.news) > 0 { // of calls that were over already
		<-r.news
	}
	if !r.pooled {
		return
	}
	r.handler, r.x, r.container, r.face = nil, nil, nil, nil
	r.stream.Store(nil)
	clear(r.late)
	r.late, r.calls, r.queue = r.late[:0], r.calls[:0], nil
	r.waiting, r.status, r.done, r.plain = 0, 0, false, false
	idleReplies.Put(r)
}

// abort leaves everything behind: nobody may read the request once this returns.
func (r *reply) abort() {
	if r.x.events != nil {
		r.x.events.broken = true
	}
	owed := 0
	for _, c := range r.calls {
		if !c.over {
			r.part(c)
		}
		if !c.over && !c.settled && c.ask != nil && !c.ask.Leave() {
			owed++
		}
	}
	for owed > 0 {
		if n := <-r.news; n.why == callSettled {
			owed--
		}
	}
}

// wait waits until every call is over, however long that takes, and writes what
// comes meanwhile once the response is an event stream.
func (r *reply) wait() {
	r.look, r.lookAt = firstLook, r.began.Add(firstLook)
	if r.handler.cfg.SSEAfter == 0 && r.waiting > 0 {
		r.beat()
	}
	for now := r.began; r.waiting > 0; now = time.Now() {
		r.step(now)
		if r.waiting > 0 {
			r.flush()
		}
	}
	r.done = true
}

// step waits for whatever comes next, and acts on it.
func (r *reply) step(now time.Time) {
	if len(r.late) > 0 {
		first := r.late[0]
		r.late = append(r.late[:0], r.late[1:]...)
		r.hear(first)
		return
	}
	r.timer.Reset(r.next().Sub(now))
	select {
	case n := <-r.news:
		r.hear(n)
	case <-r.wake():
		r.progress()
	case <-r.timer.C:
		r.tick(time.Now())
	}
}

// wake tells of progress.
func (r *reply) wake() <-chan struct{} {
	if r.queue == nil {
		return nil
	}
	return r.queue.wake
}

// next is when tick has something to do.
func (r *reply) next() time.Time {
	at := r.beatAt
	if r.x.events == nil {
		if r.handler.cfg.SSEAfter < 0 || r.plain {
			return r.lookAt
		}
		at = r.began.Add(r.handler.cfg.SSEAfter)
	}
	if r.lookAt.Before(at) {
		return r.lookAt
	}
	return at
}

func (r *reply) tick(now time.Time) {
	if !now.Before(r.lookAt) {
		if r.x.client.conn.Departed() {
			r.left()
			return
		}
		r.look = min(2*r.look, departurePoll)
		r.lookAt = now.Add(r.look)
	}
	if r.x.events != nil && now.Before(r.beatAt) {
		return
	}
	if after := r.handler.cfg.SSEAfter; r.x.events == nil && (after < 0 || r.plain || now.Before(r.began.Add(after))) {
		return
	}
	r.beat()
}

// beat writes a comment, so that nothing between takes the response for dead.
func (r *reply) beat() {
	if !r.commit() {
		return
	}
	r.x.events.events(keepAliveComment.Bytes)
	r.flush()
}

// commit makes the response an event stream. It reports false if it stays JSON,
// because its container has too many streams: the answer then comes in silence.
func (r *reply) commit() bool {
	switch {
	case r.x.events != nil:
		return true
	case r.plain:
		return false
	case !r.face.takeStream():
		r.plain = true
		r.handler.observer.Refused(Listener, string(ReasonMaxStreams))
		r.handler.logRefused(refusalFor(ReasonMaxStreams), "the response stays JSON", r.x.client.conn, r.x.head())
		return false
	}
	r.x.events = newEventBody(r.x, r.handler.stall, r.attend)
	r.x.events.face = r.face
	r.stream.Store(r.x.events)
	for i, out := range r.outs {
		r.outs[i] = nil
		r.put(i, out)
	}
	return true
}

// put gives the response a message, which it takes over; nil is none.
func (r *reply) put(slot int, message *codec.Buffer) {
	switch {
	case message == nil:
	case r.x.events == nil:
		r.outs[slot] = message
	default:
		r.x.events.message(message)
		message.Release()
	}
}

// flush writes what the stream has to say. A client that does not take it has left.
func (r *reply) flush() {
	if r.x.events == nil {
		return
	}
	if r.write(); r.x.events.broken {
		r.left()
	}
}

func (r *reply) write() {
	if r.x.events.out != nil {
		r.x.events.flush()
		r.beatAt = time.Now().Add(r.handler.cfg.KeepAlive)
	}
}

// hear acts on what a call has to say.
func (r *reply) hear(n news) {
	switch c := n.call; {
	case c.over: // it was told when it was over already
	case n.why == callSettled:
		c.settled = true
		r.drain(c)
		r.finish(c, callSettled)
	case c.abandon(n.why):
		r.finish(c, n.why)
	}
}

// attend abandons the calls that need not wait any longer, in the midst of a
// write that may take long. The rest is for later.
func (r *reply) attend() {
	for {
		select {
		case n := <-r.news:
			if n.why == callSettled {
				n.call.settled = true
			} else if !n.call.over {
				n.call.abandon(n.why)
			}
			r.late = append(r.late, n)
		default:
			return
		}
	}
}

// hurry has the reply hear at once what was told to one of its calls.
func (r *reply) hurry() {
	if stream := r.stream.Load(); stream != nil {
		stream.hurry()
	}
	r.x.client.callBack()
}

// left is the departure of the client.
func (r *reply) left() {
	for _, c := range r.calls {
		if !c.over && c.abandon(callLeft) {
			r.finish(c, callLeft)
		}
	}
}

// progress gives the stream the progress that waits. What comes while it does is
// left for the next time, so that nobody keeps it from anything else.
func (r *reply) progress() {
	if r.queue == nil {
		return
	}
	for range maxProgress {
		event := r.queue.take()
		if event == nil {
			return
		}
		if !r.commit() {
			r.handler.observer.Unheard(UnheardFull)
			continue
		}
		if r.x.events.events(event); r.x.events.full() {
			r.write()
		}
	}
}

// drain has the progress that was sent before an answer come before it: what the
// container's notifications path holds already is waited for, though not long.
func (r *reply) drain(c *call) {
	if c.listener == nil {
		return
	}
	until := time.Now().Add(drainTime)
	for step := firstDrain; !r.container.Drained(); {
		left := time.Until(until)
		if left <= 0 {
			break
		}
		r.timer.Reset(min(step, left))
		select {
		case <-r.queue.wake:
			r.progress()
		case <-r.timer.C:
			step *= 2
		}
	}
	r.deafen(c)
	r.progress()
}
