package codec

import (
	"io"
	"math/rand/v2"
	"testing"
)

var _ io.Writer = (*Buffer)(nil)

func TestBufferHasTheCapacityAskedFor(t *testing.T) {
	for n := -1; n <= 2*largest; n += max(1, n/7) {
		b := GetBuffer(n)
		if len(b.B) != 0 || cap(b.B) < n || n <= largest && cap(b.B) > largest {
			t.Fatalf("GetBuffer(%d) has length %d, capacity %d", n, len(b.B), cap(b.B))
		}
		b.Release()
	}
	for _, n := range []int{smallest, smallest + 1, largest - 1, largest, largest + 1} {
		b := GetBuffer(n)
		if cap(b.B) < n {
			t.Errorf("GetBuffer(%d) has capacity %d", n, cap(b.B))
		}
		b.Release()
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
	for _, size := range []int{0, smallest - 1, largest + 1, 64 * largest} {
		b := GetBuffer(0)
		b.B = make([]byte, 0, size)
		b.Release()
		if b.B != nil {
			t.Errorf("a buffer of %d bytes was kept", size)
		}
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
