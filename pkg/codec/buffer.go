package codec

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Buffers come in classes from smallest to largest bytes, four to each doubling,
// so that a large one is at most a quarter larger than it has to be. What has
// grown beyond largest is not kept, so that a few huge messages cannot pin their
// memory; the rest is dropped when two collections have found it unused.
const (
	smallest = 1 << 10
	shelved  = 64 << 10 // from here on shelves keep them, and pools below
	largest  = 16 << 20

	smallestClass = 35 // class(smallest)
	shelvedClass  = 59 // class(shelved)
	largestClass  = 91 // class(largest)
)

// class is the number of the least class that holds so many bytes. It is
// 4·shift+n for the size (n+1)<<shift, with n from 4 to 7.
func class(size int) int {
	shift := bits.Len(uint(size-1)) - 3
	return shift<<2 + (size-1)>>shift
}

func classSize(class int) int {
	shift := class>>2 - 1
	return (class - shift<<2 + 1) << shift
}

// pools[i] holds buffers of a capacity of at least classSize(smallestClass+i), and
// shelves[i] of at least classSize(shelvedClass+i).
var (
	pools   [shelvedClass - smallestClass]sync.Pool
	shelves [largestClass - shelvedClass + 1]shelf
)

// Buffer is a byte slice on loan from a pool. Its holder appends to B, hands
// the Buffer on or Releases it. It is not safe for concurrent use, except for
// Retain and Release.
type Buffer struct {
	B []byte

	// Before is its holder's: what comes before B, where that is in parts.
	Before *Buffer

	whole   []byte       // all the memory there is; B may begin behind its beginning, or have outgrown it
	holders atomic.Int32 // but the first; -1 once it is in the pool

	account Account // that it is charged to; nil mostly: see Charge
	charged int
}

// GetBuffer returns a Buffer whose B is empty with a capacity of at least n
// bytes.
func GetBuffer(n int) *Buffer {
	n = max(n, smallest)
	if n > largest {
		whole := make([]byte, 0, n)
		return &Buffer{B: whole, whole: whole}
	}
	class := class(n)
	if b := rested(class); b != nil {
		return b
	}
	whole := make([]byte, 0, classSize(class))
	return &Buffer{B: whole, whole: whole}
}

func rested(class int) *Buffer {
	var b *Buffer
	if class >= shelvedClass {
		b = shelves[class-shelvedClass].get()
	} else {
		b, _ = pools[class-smallestClass].Get().(*Buffer)
	}
	if b == nil {
		return nil
	}
	b.holders.Store(0)
	b.B = b.whole[:0]
	return b
}

// Around the bytes of a frame is room for what a response has around its
// result: ModernResponse and LegacyResponse work there.
const (
	frontRoom = 128
	backRoom  = 512

	// FrameRoom is both together.
	FrameRoom = frontRoom + backRoom
)

// GetFrame returns a Buffer for a message of n bytes that is to be decoded: as
// GetBuffer, with FrameRoom around them.
func GetFrame(n int) *Buffer {
	b := GetBuffer(n + FrameRoom)
	b.B = b.whole[frontRoom:frontRoom]
	return b
}

// RestedFrame is GetFrame if there is such a Buffer in the pool, and else nil.
func RestedFrame(n int) *Buffer {
	if n = max(n+FrameRoom, smallest); n > largest {
		return nil
	}
	b := rested(class(n))
	if b != nil {
		b.B = b.whole[frontRoom:frontRoom]
	}
	return b
}

// Retain makes the caller another holder: b is given back when as many have
// Released it as hold it.
func (b *Buffer) Retain() { b.holders.Add(1) }

// Release gives b back, unless others hold it; neither b nor any view of b.B
// may be used after it. One Release too many panics, as long as nobody has been
// given b anew. It is kept by what capacity B has grown to, and dropped if that
// is over 16 MiB.
func (b *Buffer) Release() {
	switch others := b.holders.Add(-1); {
	case others >= 0:
		return
	case others < -1:
		panic("codec: Buffer released twice")
	}
	if b.account != nil {
		b.discharge()
	}
	poison(b.B)
	poison(b.whole)
	if cap(b.B) > cap(b.whole) {
		b.whole = b.B
	}
	size := cap(b.whole)
	if b.B, b.Before = nil, nil; size < smallest || size > largest {
		b.whole = nil
		return
	}
	if class := class(size+1) - 1; class >= shelvedClass {
		shelves[class-shelvedClass].put(b)
	} else {
		pools[class-smallestClass].Put(b)
	}
}

// front is how many bytes there are before B.
func (b *Buffer) front() int {
	n, m := cap(b.whole), cap(b.B)
	if n < m || m == 0 || &b.whole[:n][n-1] != &b.B[:m][m-1] {
		return 0 // it has outgrown them
	}
	return n - m
}

// precede moves the beginning of B n bytes to the front; there must be room.
func (b *Buffer) precede(n int) {
	at := b.front()
	b.B = b.whole[at-n : at+len(b.B)]
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.B = append(b.B, p...)
	return len(p), nil
}
