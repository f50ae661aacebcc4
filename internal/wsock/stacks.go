package wsock

import (
	"iter"
	"sync"

	"github.com/diverge-network/gateway/internal/sock"
)

// mostRested is how many stacks rest at most.
const mostRested = 16

// Stacks are stacks that have grown to what a read takes, for connections to
// work on that wait on a small one. Going over to another is a twentieth of what
// starting a goroutine costs, growing its stack, and waking a thread that finds
// nothing to do: of one notification at a time, that was a third. The zero Stacks
// is ready. Its methods may be called from any goroutine.
type Stacks struct {
	mu     sync.Mutex // guards what follows
	rested []*stack
	closed bool
}

// stack is a coroutine that waits for a read to work on.
type stack struct {
	conn  *Conn
	chunk *sock.Chunk // nil: what came early
	again bool
	run   func() (struct{}, bool)
	end   func()
}

// Close ends the stacks that rest, and those that are at work when they are done.
func (p *Stacks) Close() {
	p.mu.Lock()
	rested := p.rested
	p.rested, p.closed = nil, true
	p.mu.Unlock()
	for _, s := range rested {
		s.end()
	}
}

// work is Conn.work on one of the stacks.
func (p *Stacks) work(c *Conn, chunk *sock.Chunk) (again bool) {
	s := p.take()
	s.conn, s.chunk, s.again = c, chunk, false
	s.run()
	again = s.again
	s.conn, s.chunk = nil, nil
	p.rest(s)
	return again
}

func (p *Stacks) take() *stack {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.rested); n > 0 {
		s := p.rested[n-1]
		p.rested = p.rested[:n-1]
		return s
	}
	s := new(stack)
	s.run, s.end = iter.Pull(s.works)
	return s
}

func (p *Stacks) rest(s *stack) {
	p.mu.Lock()
	rests := !p.closed && len(p.rested) < mostRested
	if rests {
		p.rested = append(p.rested, s)
	}
	p.mu.Unlock()
	if !rests {
		s.end()
	}
}

// works is the coroutine: one read between two yields.
func (s *stack) works(yield func(struct{}) bool) {
	for {
		s.again = s.conn.worked(s.chunk)
		if !yield(struct{}{}) {
			return
		}
	}
}
