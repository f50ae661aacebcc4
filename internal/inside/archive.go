package inside

import "sync"

// maxArchived is how many sessions of forgotten containers are surely
// remembered, and half of how many are at most.
const maxArchived = 1 << 15

// archive remembers what the Faces of forgotten containers knew of their
// sessions (protocol G5): that a session was deleted, or when it was last used.
// A session that it has lost counts as one from before the process began: it may
// end early, or be good again until it expires.
type archive struct {
	mu    sync.Mutex // a leaf
	uses  generations
	ended generations
}

// generations is a table that forgets what was put into it long ago.
type generations struct{ young, old map[sessionID]int64 }

func (g *generations) put(id sessionID, at int64) {
	if g.young == nil {
		g.young = make(map[sessionID]int64)
	}
	g.young[id] = at
	if len(g.young) == maxArchived {
		g.young, g.old = nil, g.young
	}
}

func (g *generations) get(id sessionID) (at int64, ok bool) {
	if at, ok = g.young[id]; !ok {
		at, ok = g.old[id]
	}
	return at, ok
}

// keep takes in what is still of use of a Face's sessions.
func (a *archive) keep(t *sessions, l lifetime, now int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	keep := func(id sessionID, used int64) {
		if used != 0 && !l.expired(used, now) {
			a.uses.put(id, used)
		}
	}
	keep(t.first.id, t.first.at)
	for id, used := range t.uses {
		keep(id, used)
	}
	for id, until := range t.ended {
		if now < until {
			a.ended.put(id, until)
		}
	}
}

// live is sessions.live of a session that no Face knows.
func (a *archive) live(s session, l lifetime, now int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ended := a.ended.get(s.id); ended {
		return false
	}
	used, seen := a.uses.get(s.id)
	if !seen {
		used = l.firstUse(s)
	}
	return !l.expired(used, now)
}
