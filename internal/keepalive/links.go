package keepalive

// An Entry that heads a list is linked to itself while the list is empty.

func (e *Entry) clear() { e.next, e.prev = e, e }

func (e *Entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
	e.next, e.prev = nil, nil
}

// append adds tail to the end of the list that e heads.
func (e *Entry) append(tail *Entry) {
	tail.prev, tail.next = e.prev, e
	e.prev.next = tail
	e.prev = tail
}

// takeAll moves all of other's list to the end of the list that e heads.
func (e *Entry) takeAll(other *Entry) {
	if other.next == other {
		return
	}
	other.next.prev, other.prev.next = e.prev, e
	e.prev.next, e.prev = other.next, other.prev
	other.clear()
}
