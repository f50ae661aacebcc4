package inside

import "time"

// Bounds of one container's session tables.
const (
	maxUses  = 1024
	maxEnded = 1024
)

// lifetime says when a session ends by itself: after ttl of no use. What was
// used before this process began is not known to it, so a session that it has
// not seen yet counts as used when it was issued or when the process began,
// whichever is later.
type lifetime struct {
	ttl   time.Duration
	began int64 // Unix nanoseconds
}

func (l lifetime) firstUse(s session) int64 {
	return max(time.Unix(s.issued, 0).UnixNano(), l.began)
}

func (l lifetime) expired(used, now int64) bool { return now-used >= int64(l.ttl) }

// sessions remembers of one container's sessions what their tokens do not say.
// Both tables are bounded, and their maps made when first needed. Guarded by Face.mu.
type sessions struct {
	// first and uses hold when each session was last used, in Unix nanoseconds;
	// most containers have one session.
	first use
	uses  map[sessionID]int64
	// ended holds the sessions that were deleted, each until the time at which
	// it would have expired. Over the bound, the one that would expire first is
	// forgotten: it may then be used again until it does.
	ended map[sessionID]int64
}

// use is when a session was last used; at 0 there is none.
type use struct {
	id sessionID
	at int64
}

func (t *sessions) hasEnded(id sessionID) bool {
	_, ended := t.ended[id]
	return ended
}

// live reports whether the session is neither ended nor expired. Of one that is
// in neither table, the archive says so.
func (t *sessions) live(s session, past *archive, l lifetime, now int64) bool {
	if t.hasEnded(s.id) {
		return false
	}
	if used, seen := t.used(s.id); seen {
		return !l.expired(used, now)
	}
	return past.live(s, l, now)
}

// use records a use of a session.
func (t *sessions) use(id sessionID, now int64) {
	used, seen := t.used(id)
	now = max(used, now)
	switch {
	case t.first.at == 0 && !seen || t.first.id == id:
		t.first = use{id, now}
		return
	case seen:
	case t.uses == nil:
		t.uses = make(map[sessionID]int64, 1)
	case len(t.uses) >= maxUses-1:
		evict(t.uses)
	}
	t.uses[id] = now
}

// used is when a session was last used, as far as that is known.
func (t *sessions) used(id sessionID) (at int64, seen bool) {
	if t.first.at != 0 && t.first.id == id {
		return t.first.at, true
	}
	at, seen = t.uses[id]
	return at, seen
}

// end remembers that a session was deleted.
func (t *sessions) end(s session, l lifetime, now int64) {
	delete(t.uses, s.id)
	if t.first.id == s.id {
		t.first = use{}
	}
	if t.ended == nil {
		t.ended = make(map[sessionID]int64, 1)
	}
	if len(t.ended) >= maxEnded {
		for id, until := range t.ended {
			if until <= now {
				delete(t.ended, id)
			}
		}
	}
	if len(t.ended) >= maxEnded {
		evict(t.ended)
	}
	// Once ended it is not used, so it is forgotten here and expires there at
	// the same time.
	t.ended[s.id] = l.firstUse(s) + int64(l.ttl)
}

// evict makes room by dropping the entry with the least time.
func evict(table map[sessionID]int64) {
	var (
		oldest sessionID
		least  int64
		found  bool
	)
	for id, at := range table {
		if !found || at < least {
			oldest, least, found = id, at, true
		}
	}
	delete(table, oldest)
}
