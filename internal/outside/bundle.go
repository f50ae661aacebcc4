package outside

import (
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
)

// mostBundled bounds how many notifications are handed on at once.
const mostBundled = 64

// bundle is notifications that came together: they were in what one read
// brought, so that nothing is waited for to have them.
type bundle struct {
	buffers []*codec.Buffer
	frames  [][]byte
}

var bundles = sync.Pool{New: func() any {
	return &bundle{make([]*codec.Buffer, 0, mostBundled), make([][]byte, 0, mostBundled)}
}}

// gather keeps a notification, which it owns from then on, until the Lull.
func (s *answer) gather(b *codec.Buffer) {
	if s.came == nil {
		s.came = bundles.Get().(*bundle)
	}
	s.came.buffers = append(s.came.buffers, b)
	s.came.frames = append(s.came.frames, b.B)
	if len(s.came.frames) == mostBundled {
		s.Lull()
	}
}

// Lull implements wsock.Gatherer: what came together is handed on.
func (s *answer) Lull() {
	if b := s.came; b != nil {
		s.came = nil
		defer b.release()
		s.path.Notification(b.frames...)
	}
}

func (b *bundle) release() {
	for _, one := range b.buffers {
		one.Release()
	}
	clear(b.buffers)
	clear(b.frames)
	b.buffers, b.frames = b.buffers[:0], b.frames[:0]
	bundles.Put(b)
}
