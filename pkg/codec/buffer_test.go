package codec

import (
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

var _ io.Writer = (*Buffer)(nil)

func TestBufferHasTheCapacityAskedFor(t *testing.T) {
	sizes := []int{smallest, smallest + 1, largest - 1, largest, largest + 1}
	for n := -1; n <= 2*largest; n += max(1, n/7) {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		b := GetBuffer(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Fatalf("GetBuffer(%d) has length %d, capacity %d", n, len(b.B), cap(b.B))
		}
		b.Release()
	}
}

func TestClassesAreFourToADoubling(t *testing.T) {
	if class(smallest) != smallestClass || class(shelved) != shelvedClass || class(largest) != largestClass {
		t.Errorf("the outermost classes are %d and %d", class(smallest), class(largest))
	}
	for c := smallestClass; c <= largestClass; c++ {
		size := classSize(c)
		if next := classSize(c + 1); next-size > size/4 {
			t.Errorf("class %d: %d bytes, and the next has %d", c, size, next)
		}
		if class(size) != c || class(size+1) != c+1 || classSize(c+4) != 2*size {
			t.Errorf("class %d: %d bytes", c, size)
		}
	}
}

func TestBufferGrownOddlyServesItsClass(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		b := GetBuffer(r.IntN(3 * smallest))
		b.B = make([]byte, r.IntN(8*smallest))
		b.Release()
		n := r.IntN(8 * smallest)
		b = GetBuffer(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Fatalf("GetBuffer(%d) has length %d, capacity %d", n, len(b.B), cap(b.B))
		}
		b.Release()
	}
}

func TestBufferOverTheLimitIsNotKept(t *testing.T) {
	for _, size := range []int{largest + 1, 4 * largest} {
		b := GetBuffer(0)
		b.B = make([]byte, 0, size)
		b.Release()
		if b.B != nil || b.whole != nil {
			t.Errorf("a buffer of %d bytes was kept", size)
		}
	}
	b := &Buffer{B: make([]byte, 10)}
	if b.Release(); b.whole != nil {
		t.Errorf("a buffer of %d bytes was kept", cap(b.whole))
	}
}

func TestAFrameHasRoomAround(t *testing.T) {
	for _, n := range []int{0, 1, smallest, 5 << 10, 1 << 20, largest, 2 * largest} {
		b := GetFrame(n)
		if len(b.B) != 0 || cap(b.B) < n+backRoom || b.front() != frontRoom {
			t.Errorf("GetFrame(%d) has length %d, capacity %d, and %d in front", n, len(b.B), cap(b.B), b.front())
		}
		b.B = append(b.B, "end"...)
		b.precede(frontRoom)
		copy(b.B, "begin")
		if len(b.B) != frontRoom+3 || b.front() != 0 || string(b.B[frontRoom:]) != "end" {
			t.Errorf("GetFrame(%d) has %q after that", n, b.B)
		}
		b.Release()
	}
	b := GetFrame(0)
	b.B = make([]byte, 2*smallest)
	if b.front() != 0 {
		t.Error("what has outgrown its frame has room in front")
	}
	b.Release()
}

func TestARestedFrameIsOneThatWasReleased(t *testing.T) {
	const n = 3 << 20
	for RestedFrame(n) != nil { // of other tests
	}
	if b := RestedFrame(2 * largest); b != nil {
		t.Error("there is one over the limit")
	}
	for range 100 { // a pool may lose what it is given
		GetFrame(n).Release()
		if b := RestedFrame(n); b != nil {
			if cap(b.B) < n+backRoom || b.front() != frontRoom {
				t.Errorf("it has capacity %d and %d in front", cap(b.B), b.front())
			}
			b.Release()
			return
		}
	}
	t.Error("there is none")
}

func TestWhatIsLargeAndUnusedIsDroppedByCollections(t *testing.T) {
	const n = 5 << 20
	for RestedFrame(n) != nil { // of other tests
	}
	GetFrame(n).Release()
	b := RestedFrame(n)
	if b == nil {
		t.Fatal("it is not kept")
	}
	b.Release()
	dropped := func() bool {
		s := &shelves[class(n+FrameRoom)-shelvedClass]
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.young)+len(s.old) == 0
	}
	for late := time.After(20 * time.Second); !dropped(); {
		runtime.GC()
		select {
		case <-late:
			t.Fatal("it is kept for ever")
		default:
			runtime.Gosched()
		}
	}
}

func TestABufferIsGivenBackByTheLastHolder(t *testing.T) {
	b := GetBuffer(0)
	b.B = append(b.B, "ab"...)
	b.Retain()
	b.Release()
	if string(b.B) != "ab" {
		t.Errorf("B is %q", b.B)
	}
	b.Release()
	if b.B != nil {
		t.Error("it is not given back")
	}
}

func TestBufferReleasedTwicePanics(t *testing.T) {
	for _, n := range []int{0, largest, largest + 1} {
		b := GetBuffer(n)
		b.Release()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("GetBuffer(%d): a second Release did not panic", n)
				}
			}()
			b.Release()
		}()
	}
}

func TestBufferIsAWriter(t *testing.T) {
	b := GetBuffer(0)
	defer b.Release()
	for _, s := range []string{"a", "", "bc"} {
		if n, err := io.WriteString(b, s); n != len(s) || err != nil {
			t.Errorf("Write(%q) = %d, %v", s, n, err)
		}
	}
	if string(b.B) != "abc" {
		t.Errorf("B is %q", b.B)
	}
}
