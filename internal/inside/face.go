package inside

import (
	"sync"
	"sync/atomic"

	"github.com/diverge-network/gateway/internal/toolheader"
	"github.com/diverge-network/gateway/pkg/stream"
)

// Face is the side of one container that its MCP clients see: their sessions,
// calls in flight, event streams and subscriptions. It is the container's mux.Sink.
type Face struct {
	// Set when made.
	faces *Faces
	hub   *stream.Hub // of the sessions' streams

	// subscriptions is nil until there is one. Notify reads it without a lock; it
	// is set under mu.
	subscriptions atomic.Pointer[subscriptions]

	// tokens are the progress tokens of its calls.
	tokens tokens

	// tools are those whose calls have headers of their own, as far as lists of
	// them have passed. It is nil until one has.
	tools atomic.Pointer[toolheader.Tools]

	// opening makes one change of streams at a time, the closing of a stream
	// included, which mu is not held for.
	opening sync.Mutex
	mu      sync.Mutex

	// Guarded by mu.
	sessions sessions
	calls    table[callKey, *call]
	streams  table[sessionID, *events] // each session's one stream, the newest (protocol N7)
	crowded  bool                      // calls was once longer than manyCalls
}

const (
	methodProgress     = "notifications/progress"
	methodToolsChanged = "notifications/tools/list_changed"
)

// live reports whether a session has neither ended nor expired.
func (f *Face) live(s session) bool {
	now := f.faces.now().UnixNano()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.liveLocked(s, now)
}

func (f *Face) liveLocked(s session, now int64) bool {
	return f.streams.get(s.id) != nil || f.sessions.live(s, &f.faces.archive, f.faces.lifetime, now)
}

// admit lets a request of a session in, which counts as a use of it. It reports
// false if the session has ended or expired.
func (f *Face) admit(s session) bool {
	now := f.faces.now().UnixNano()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.liveLocked(s, now) {
		return false
	}
	f.sessions.use(s.id, now)
	return true
}

// Forgotten implements mux.Forgetter: sessions outlive their container's Face.
func (f *Face) Forgotten() {
	now := f.faces.now().UnixNano()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faces.archive.keep(&f.sessions, f.faces.lifetime, now)
}

// begin enters a call under its key; refused says why it may not be made. A call with the same
// id whose client has gone, which nobody has noticed yet, makes way: it may be
// this one's client, come back.
func (f *Face) begin(c *call) (refused Reason) {
	key := c.key
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions.hasEnded(key.session) {
		return ReasonUnknownSession
	}
	if holder := f.calls.get(key); holder != nil {
		if !holder.Gone() {
			return ReasonDuplicateID
		}
		holder.tell(callLeft)
	}
	f.calls.put(c)
	f.crowded = f.crowded || f.calls.len() > manyCalls
	return ""
}

// manyCalls is above how many calls at once their map, which never shrinks, is
// not kept once it is empty.
const manyCalls = 64

// finish takes a call out again, after which nobody tells it anything. As the
// client was there until now, it counts as a use of the session.
func (f *Face) finish(c *call) {
	session := c.key.session
	now := f.faces.now().UnixNano()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls.remove(c) // it may have made way
	if f.crowded && f.calls.len() == 0 {
		f.calls.more, f.crowded = nil, false
	}
	if !f.sessions.hasEnded(session) {
		f.sessions.use(session, now)
	}
}

// cancel ends the call of that session and id, if there is one (protocol A10).
func (f *Face) cancel(key callKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.calls.get(key); c != nil {
		c.tell(callCancelled)
	}
}
