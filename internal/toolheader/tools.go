package toolheader

import "sync"

// Limits bound what Tools remembers.
type Limits struct {
	Tools int // with annotations
	Bytes int // that they cost in memory, about
}

// Tools remembers the tools of one server whose arguments travel in headers, by
// the lists that have come from it. It may be used concurrently. Its lock is a
// leaf.
type Tools struct {
	limits Limits

	mu    sync.RWMutex
	known map[string]*Tool // made when first needed
	bytes int
}

// New remembers nothing yet.
func New(l Limits) *Tools { return &Tools{limits: l} }

// Learn takes in what a list says: the tools on it are from now on as they are
// there, and where it is whole there are no others. A tool that would exceed the
// limits is not remembered.
func (t *Tools) Learn(p *Page, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if whole {
		t.known, t.bytes = nil, 0
	}
	for i := range p.tools {
		name, tool := p.tools[i].name, p.tools[i].tool
		if old := t.known[string(name)]; old != nil {
			delete(t.known, old.name)
			t.bytes -= old.cost
		}
		if tool == nil || len(t.known) >= t.limits.Tools || t.bytes+tool.cost > t.limits.Bytes {
			continue
		}
		if t.known == nil {
			t.known = make(map[string]*Tool, 1)
		}
		t.known[tool.name] = tool
		t.bytes += tool.cost
	}
}

// Forget forgets all tools.
func (t *Tools) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known, t.bytes = nil, 0
}

// Empty reports whether no tool is remembered.
func (t *Tools) Empty() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.known) == 0
}

// Find is the tool of that name; nil if no argument of it is known to travel in a
// header.
func (t *Tools) Find(name []byte) *Tool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known[string(name)]
}
