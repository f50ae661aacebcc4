package stream

// backlog is what waits on one stream: a ring of messages, oldest first, of which
// the first are in the hand of whoever writes. Only messages of at least one byte
// are in it. The stream's mu guards it.
type backlog struct {
	ring    []Message
	head    int
	count   int
	bytes   int
	written int // bytes of the first message that the connection took
	inHand  int // how many of the first are being written: neither dropped nor merged with

	lossy, lossyBytes int // of what is not in hand, what may be lost
}

func (b *backlog) at(i int) *Message { return &b.ring[(b.head+i)%len(b.ring)] }

// has looks through the ring: it is short, and used only by a stream that does
// not keep up.
func (b *backlog) has(key string) bool {
	for i := b.inHand; i < b.count; i++ {
		if b.at(i).Key == key {
			return true
		}
	}
	return false
}

// grow makes room for n more; the caller has made sure that no more than limit
// are queued then.
func (b *backlog) grow(n, limit int) {
	if b.count+n <= len(b.ring) {
		return
	}
	ring := make([]Message, min(max(8, b.count+n, 2*b.count), limit))
	for i := range b.count {
		ring[i] = *b.at(i)
	}
	b.ring, b.head = ring, 0
}

// push adds m at the end. There is room.
func (b *backlog) push(m *Message) {
	*b.at(b.count) = *m
	b.enter(m)
}

// unshift adds messages ahead of all others, of the first of which so many bytes
// are written. There is room, and nothing is in hand.
func (b *backlog) unshift(all []Message, written int) {
	b.head = (b.head + len(b.ring) - len(all)) % len(b.ring)
	for i := range all {
		*b.at(i) = all[i]
		b.enter(&all[i])
	}
	b.written = written
}

func (b *backlog) enter(m *Message) {
	b.count++
	b.bytes += len(m.Bytes)
	b.loose(m, 1)
}

// loose counts m as one of those that may be lost, or with -1 no longer.
func (b *backlog) loose(m *Message, n int) {
	if m.mayBeLost() {
		b.lossy += n
		b.lossyBytes += n * len(m.Bytes)
	}
}

// hold takes the first n in hand, as far as there are so many, and no more.
func (b *backlog) hold(n int) {
	n = min(n, b.count)
	for ; b.inHand < n; b.inHand++ {
		b.loose(b.at(b.inHand), -1)
	}
	for ; b.inHand > n; b.inHand-- {
		b.loose(b.at(b.inHand-1), 1)
	}
}

// pop takes the first out, which is in hand.
func (b *backlog) pop() {
	b.inHand--
	b.written = 0
	b.leave(len(b.at(0).Bytes))
}

// leave empties the first place.
func (b *backlog) leave(size int) {
	*b.at(0) = Message{}
	b.head = (b.head + 1) % len(b.ring)
	b.count--
	b.bytes -= size
}

// dropOldest drops the oldest message that may be lost and returns its size. The
// caller has made sure that there is one.
func (b *backlog) dropOldest() (size int) {
	i := b.inHand
	for !b.at(i).mayBeLost() {
		i++
	}
	m := *b.at(i)
	// What is older moves up; in front of the oldest there is little.
	for ; i > 0; i-- {
		*b.at(i) = *b.at(i - 1)
	}
	b.loose(&m, -1)
	b.leave(len(m.Bytes))
	return len(m.Bytes)
}
