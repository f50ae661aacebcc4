package mux

// askList is an intrusive list: it costs an ask two pointers and a container
// two more, and an ask leaves it in constant time.
type askList struct{ first, last *Ask }

func (l *askList) push(a *Ask) {
	a.prev = l.last
	if l.last == nil {
		l.first = a
	} else {
		l.last.next = a
	}
	l.last = a
}

func (l *askList) remove(a *Ask) {
	if a.prev == nil {
		l.first = a.next
	} else {
		a.prev.next = a.next
	}
	if a.next == nil {
		l.last = a.prev
	} else {
		a.next.prev = a.prev
	}
	a.prev, a.next = nil, nil
}

// all walks the list in order; the ask at hand may be removed.
func (l *askList) all(yield func(*Ask) bool) {
	for a := l.first; a != nil; {
		next := a.next
		if !yield(a) {
			return
		}
		a = next
	}
}
