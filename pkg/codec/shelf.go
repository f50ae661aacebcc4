package codec

import (
	"runtime"
	"sync"
)

// shelf is a sync.Pool of large buffers that all processors share. Of a
// sync.Pool each processor keeps an element to itself, which for these is too
// much: 1 MiB results, one at a time, grew the process by twice as much.
type shelf struct {
	mu        sync.Mutex // guards what follows; a leaf
	young     []*Buffer  // released since the last collection
	old       []*Buffer  // released before, and not used since: dropped by the next
	collected bool       // somebody tells of collections
}

func (s *shelf) get() *Buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range []*[]*Buffer{&s.young, &s.old} {
		if n := len(*from); n > 0 {
			b := (*from)[n-1]
			(*from)[n-1] = nil
			*from = (*from)[:n-1]
			return b
		}
	}
	return nil
}

// GiveBack gives up the large Buffers that rest, so that the next collection frees
// them. Those of up to 64 KiB are given up by two collections.
func GiveBack() {
	for i := range shelves {
		shelves[i].clear()
	}
}

func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young, s.old = nil, nil
}

func (s *shelf) put(b *Buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young = append(s.young, b)
	if !s.collected {
		s.collected = true
		runtime.AddCleanup(new(collection), (*shelf).age, s)
	}
}

// collection is what the next collection frees.
type collection struct{ _ *collection }

// age is called after a collection.
func (s *shelf) age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collected = false
	if s.old, s.young = s.young, nil; len(s.old) > 0 {
		s.collected = true
		runtime.AddCleanup(new(collection), (*shelf).age, s)
	}
}
