package stream

// backlog is what waits on one stream: the rest of the message that the flusher
// has in hand, and a ring of whole messages behind it, oldest first. Only
// messages of at least one byte are in it. The stream's mu guards it.
type backlog struct {
	rest []byte // nil: the flusher has no message in hand

	ring  []Message
	head  int
	count int
	bytes int

	lossy, lossyBytes int // of count and bytes, what may be lost
}

func (b *backlog) at(i int) *Message { return &b.ring[(b.head+i)%len(b.ring)] }

// has looks through the ring: it is short, and used only by a stream that does
// not keep up.
func (b *backlog) has(key string) bool {
	for i := range b.count {
		if b.at(i).Key == key {
			return true
		}
	}
	return false
}

// push adds m; the caller has made sure that no more than limit are queued.
func (b *backlog) push(m *Message, limit int) {
	if b.count == len(b.ring) {
		ring := make([]Message, min(max(8, 2*b.count), limit))
		for i := range b.count {
			ring[i] = *b.at(i)
		}
		b.ring, b.head = ring, 0
	}
	*b.at(b.count) = *m
	b.count++
	b.bytes += len(m.Bytes)
	if m.mayBeLost() {
		b.lossy++
		b.lossyBytes += len(m.Bytes)
	}
}

func (b *backlog) pop() Message {
	m := *b.at(0)
	*b.at(0) = Message{}
	b.head = (b.head + 1) % len(b.ring)
	b.forget(&m)
	return m
}

// dropOldest drops the oldest message that may be lost and returns its size. The
// caller has made sure that there is one.
func (b *backlog) dropOldest() (size int) {
	i := 0
	for !b.at(i).mayBeLost() {
		i++
	}
	m := *b.at(i)
	// What is older moves up; in front of the oldest there is little.
	for ; i > 0; i-- {
		*b.at(i) = *b.at(i - 1)
	}
	*b.at(0) = Message{}
	b.head = (b.head + 1) % len(b.ring)
	b.forget(&m)
	return len(m.Bytes)
}

func (b *backlog) forget(m *Message) {
	b.count--
	b.bytes -= len(m.Bytes)
	if m.mayBeLost() {
		b.lossy--
		b.lossyBytes -= len(m.Bytes)
	}
}
