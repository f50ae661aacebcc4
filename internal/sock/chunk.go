package sock

import "sync"

// ChunkSize is the room in a Chunk, in bytes.
const ChunkSize = 4 << 10

// Chunk is a pooled read buffer.
type Chunk struct {
	// B holds what was read. Its capacity is ChunkSize, so that a caller can
	// read on behind it.
	B    []byte
	room [ChunkSize]byte
}

var chunks = sync.Pool{New: func() any { return new(Chunk) }}

// TakeChunk returns an empty chunk; the caller Releases it.
func TakeChunk() *Chunk {
	c := chunks.Get().(*Chunk)
	c.B = c.room[:0]
	return c
}

// Release gives the chunk back. Neither it nor its bytes may be used any more;
// a second Release panics.
func (c *Chunk) Release() {
	if c.B == nil {
		panic("sock: chunk released twice")
	}
	c.B = nil
	chunks.Put(c)
}
