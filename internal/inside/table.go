package inside

import "iter"

// keyed is what tells by itself under which key it is found.
type keyed[K comparable] interface {
	comparable
	tableKey() K
}

// table is a map of few entries to be, most often one: that one costs no more than
// a pointer. The zero table is empty. It is not safe for concurrent use.
type table[K comparable, V keyed[K]] struct {
	first V // the zero V: none
	more  map[K]V
}

// get is the entry of that key; the zero V if there is none.
func (t *table[K, V]) get(key K) (v V) {
	if t.first != v && t.first.tableKey() == key {
		return t.first
	}
	return t.more[key]
}

// put enters v, in the place of the entry with its key.
func (t *table[K, V]) put(v V) {
	var none V
	key := v.tableKey()
	switch _, there := t.more[key]; {
	case there:
		t.more[key] = v
	case t.first == none || t.first.tableKey() == key:
		t.first = v
	case t.more == nil:
		t.more = map[K]V{key: v}
	default:
		t.more[key] = v
	}
}

// remove takes v out, unless another has its place.
func (t *table[K, V]) remove(v V) {
	if t.first == v {
		var none V
		t.first = none
	} else if key := v.tableKey(); t.more[key] == v {
		delete(t.more, key)
	}
}

func (t *table[K, V]) len() int {
	var none V
	if t.first == none {
		return len(t.more)
	}
	return 1 + len(t.more)
}

// all has every entry, in no order. Entries may be removed meanwhile.
func (t *table[K, V]) all() iter.Seq[V] {
	return func(yield func(V) bool) {
		var none V
		if first := t.first; first != none && !yield(first) {
			return
		}
		for _, v := range t.more {
			if !yield(v) {
				return
			}
		}
	}
}
