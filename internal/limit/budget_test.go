package limit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/diverge-network/gateway/pkg/codec"
)

const size = 64 << 10 // a class of codec's: what is asked for is what there is

func charged(t *testing.T, b *Budget, container string) *codec.Buffer {
	t.Helper()
	buffer := codec.GetBuffer(size)
	if full := b.Charge(container, buffer); full != nil {
		t.Fatal(full)
	}
	return buffer
}

func (b *Budget) is(t *testing.T, used, fullest int64) {
	t.Helper()
	if b.Used() != used || b.Fullest() != fullest {
		t.Errorf("%d bytes are held, and %d for one container; want %d and %d", b.Used(), b.Fullest(), used, fullest)
	}
}

func TestAContainerIsBoundedWithoutTheOthers(t *testing.T) {
	b := NewBudget(2*size, 0)
	first, second, other := charged(t, b, "a"), charged(t, b, "a"), charged(t, b, "b")
	b.is(t, 3*size, 2*size)
	third := codec.GetBuffer(size)
	full := b.Charge("a", third)
	if full == nil || full.Name != Buffered || full.Most != 2*size || !strings.Contains(full.Error(), "--max-buffered)") {
		t.Fatalf("over the limit: %v", full)
	}
	third.Release()
	b.is(t, 3*size, 2*size)
	first.Release()
	charged(t, b, "a").Release()
	second.Release()
	other.Release()
	b.is(t, 0, 0)
}

func TestAllContainersAreBoundedTogether(t *testing.T) {
	b := NewBudget(0, 2*size)
	first, second := charged(t, b, "a"), charged(t, b, "b")
	third := codec.GetBuffer(size)
	if full := b.Charge("c", third); full == nil || full.Name != BufferedTotal || full.Most != 2*size {
		t.Fatalf("over the limit: %v", full)
	}
	b.Force("c", third)
	b.is(t, 3*size, size)
	third.Release()
	first.Release()
	second.Release()
	b.is(t, 0, 0)
}

func TestOnlyWhatABufferHasGrownByIsCharged(t *testing.T) {
	b := NewBudget(size, 0)
	buffer := codec.GetBuffer(size / 2)
	for range 2 {
		if full := b.Charge("a", buffer); full != nil {
			t.Fatal(full)
		}
	}
	b.is(t, size/2, size/2)
	bigger := codec.GetBuffer(size)
	bigger.Inherit(buffer)
	if full := b.Charge("a", bigger); full != nil {
		t.Fatal(full)
	}
	buffer.Release()
	b.is(t, size, size)
	bigger.Retain()
	bigger.Release()
	b.is(t, size, size)
	bigger.Release()
	b.is(t, 0, 0)
}

func TestSmallBuffersAndNoBudgetCountNothing(t *testing.T) {
	b := NewBudget(1, 1)
	small := codec.GetBuffer(Small)
	defer small.Release()
	if full := b.Charge("a", small); full != nil || b.Used() != 0 {
		t.Errorf("a small buffer: %v, %d bytes", full, b.Used())
	}
	large := codec.GetBuffer(size)
	defer large.Release()
	var none *Budget
	if full := none.Charge("a", large); full != nil || large.Charged() != 0 {
		t.Errorf("no budget: %v, %d bytes", full, large.Charged())
	}
	none.Force("a", large)
}

// TestWhateverHappensAllIsGivenBack runs random schedules of charging, growing,
// handing on and releasing, by many at once.
func TestWhateverHappensAllIsGivenBack(t *testing.T) {
	const perContainer, total = 20 * size, 50 * size
	b := NewBudget(perContainer, total)
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			held := make(map[*codec.Buffer]string)
			for range 2000 {
				switch r.IntN(5) {
				case 0, 1:
					container := fmt.Sprint("c", r.IntN(5))
					buffer := codec.GetBuffer(1 + r.IntN(2*size))
					if b.Charge(container, buffer) != nil {
						buffer.Release()
						continue
					}
					held[buffer] = container
				case 2:
					for buffer, container := range held {
						bigger := codec.GetBuffer(2 * cap(buffer.B))
						bigger.Inherit(buffer)
						delete(held, buffer)
						buffer.Release()
						if b.Charge(container, bigger) != nil {
							bigger.Release()
						} else {
							held[bigger] = container
						}
						break
					}
				default:
					for buffer := range held {
						delete(held, buffer)
						buffer.Release()
						break
					}
				}
				if used, most := b.Used(), b.Fullest(); used > total || most > perContainer {
					t.Errorf("%d bytes are held, %d for one container", used, most)
				}
			}
			for buffer := range held {
				buffer.Release()
			}
		})
	}
	all.Wait()
	b.is(t, 0, 0)
	for i := range b.shards {
		if n := len(b.shards[i].accounts); n != 0 {
			t.Errorf("%d accounts are left", n)
		}
	}
}
