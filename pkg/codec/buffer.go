package codec

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Buffer classes are powers of two from smallest to largest bytes. What has
// grown beyond largest is not kept, so that a few huge messages cannot pin
// their memory.
const (
	smallestBits = 10 // 1 KiB
	largestBits  = 20 // 1 MiB
	smallest     = 1 << smallestBits
	largest      = 1 << largestBits
)

// pools[i] holds buffers of a capacity of at least smallest<<i.
var pools [largestBits - smallestBits + 1]sync.Pool

// Buffer is a byte slice on loan from a pool. Its holder appends to B, hands
// the Buffer on or Releases it, once. It is not safe for concurrent use.
type Buffer struct {
	B []byte

	released atomic.Bool
}

// GetBuffer returns a Buffer whose B is empty with a capacity of at least n
// bytes.
func GetBuffer(n int) *Buffer {
	if n > largest {
		return &Buffer{B: make([]byte, 0, n)}
	}
	class := 0
	if n > smallest {
		class = bits.Len(uint(n-1)) - smallestBits
	}
	if b, ok := pools[class].Get().(*Buffer); ok {
		b.released.Store(false)
		return b
	}
	return &Buffer{B: make([]byte, 0, smallest<<class)}
}

// Release gives b back; neither b nor any view of b.B may be used after it. A
// second Release panics, as long as nobody has been given b anew. B is kept by
// what capacity it has grown to, and dropped if that is over 1 MiB.
func (b *Buffer) Release() {
	if !b.released.CompareAndSwap(false, true) {
		panic("codec: Buffer released twice")
	}
	poison(b.B)
	size := cap(b.B)
	if size < smallest || size > largest {
		b.B = nil
		return
	}
	b.B = b.B[:0]
	pools[bits.Len(uint(size))-1-smallestBits].Put(b)
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.B = append(b.B, p...)
	return len(p), nil
}
