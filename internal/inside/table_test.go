package inside

import (
	"math/rand/v2"
	"testing"
)

type entry struct{ key int }

func (e *entry) tableKey() int { return e.key }

// TestATableIsAMap does the same to a table and to a map.
func TestATableIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var got table[int, *entry]
	want := make(map[int]*entry)
	for range 100_000 {
		key := random.IntN(4)
		switch e := want[key]; random.IntN(3) {
		case 0:
			want[key] = &entry{key}
			got.put(want[key])
		case 1:
			if e != nil {
				got.remove(e)
				delete(want, key)
			}
		case 2:
			got.remove(&entry{key}) // another has its place, or nobody
		}
		seen := 0
		for e := range got.all() {
			if want[e.key] != e {
				t.Fatalf("%v is there, want %v", e, want[e.key])
			}
			seen++
		}
		if got.get(key) != want[key] || got.len() != len(want) || seen != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
