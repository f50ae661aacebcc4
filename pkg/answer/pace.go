package answer

import (
	"context"
	"sync"
)

// pace bounds the handshakes of a fleet that are under way at once, so that neither side's backlog overflows when
// thousands of containers come together. First come, first served; but paths go before lines: their containers are
// connected already, and miss what is notified meanwhile.
type pace struct {
	mu    sync.Mutex // a leaf
	free  int        // handshakes that may begin
	paths []*visit
	lines []*visit
}

// visit is one handshake's place in the queue.
type visit struct {
	turn    chan struct{} // closed when the handshake may begin
	queued  bool          // guarded by fleet.mu; of lines only
	granted bool          // guarded by pace.mu, as is gone
	gone    bool
}

func newVisit() *visit { return &visit{turn: make(chan struct{})} }

func (p *pace) queuePath(v *visit) { p.queue(&p.paths, v) }
func (p *pace) queueLine(v *visit) { p.queue(&p.lines, v) }

func (p *pace) queue(lane *[]*visit, v *visit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*lane = append(*lane, v)
	p.grant()
}

// await waits for the visit's turn, and reports false if ctx ends first: it has none then.
func (p *pace) await(ctx context.Context, v *visit) bool {
	select {
	case <-v.turn:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	v.gone = true
	if v.granted {
		p.free++
		p.grant()
	}
	return false
}

// leave ends a handshake that had its turn.
func (p *pace) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	p.grant()
}

// recall takes the lines that wait out of the queue. Called with fleet.mu held.
func (p *pace) recall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.lines {
		v.queued = false
	}
	p.lines = nil
}

// grant is called with mu held.
func (p *pace) grant() {
	for p.free > 0 {
		v := first(&p.paths)
		if v == nil {
			v = first(&p.lines)
		}
		if v == nil {
			return
		}
		p.free--
		v.granted = true
		close(v.turn)
	}
}

// first takes the first visit that is still wanted; nil: none.
func first(lane *[]*visit) *visit {
	for len(*lane) > 0 {
		v := (*lane)[0]
		(*lane)[0] = nil
		*lane = (*lane)[1:]
		if !v.gone {
			return v
		}
	}
	*lane = nil
	return nil
}
