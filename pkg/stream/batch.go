package stream

// Bounds of a Batch.
const (
	BatchMessages = 64
	BatchBytes    = 8 << 10
)

// Batch is messages that came together and are given together: a stream on which
// nothing waits gets all of them in one write, and their bytes are one allocation.
// As in a queue, a message adds nothing where an earlier one of the batch has its
// key. While one of the messages waits, the bytes of all of them are held. The zero
// Batch is empty. It is used by one goroutine at a time.
type Batch struct {
	messages []Message
	filling  []byte // what they have for bytes, before it is given to them
	merged   int    // messages that added nothing
}

// Merges reports whether a message with this key would add nothing, and counts it
// as one if so: then it need not be made.
func (b *Batch) Merges(key string) bool {
	if key == "" {
		return false
	}
	for i := range b.messages {
		if b.messages[i].Key == key {
			b.merged++
			return true
		}
	}
	return false
}

// Add adds a message, whose Bytes are copied, and reports whether there was room
// for it.
func (b *Batch) Add(m Message) bool {
	if len(b.messages) == BatchMessages || len(b.filling)+len(m.Bytes) > BatchBytes {
		return false
	}
	if b.Merges(m.Key) {
		return true
	}
	b.filling = append(b.filling, m.Bytes...)
	m.Bytes = b.filling[len(b.filling)-len(m.Bytes):] // for its length
	b.messages = append(b.messages, m)
	return true
}

// Len is how many messages were added, those that added nothing included.
func (b *Batch) Len() int { return len(b.messages) + b.merged }

// Reset makes the batch empty, and keeps its room.
func (b *Batch) Reset() {
	clear(b.messages)
	b.messages, b.filling, b.merged = b.messages[:0], b.filling[:0], 0
}

// seal gives the messages their bytes, which lie one after the other.
func (b *Batch) seal() (bytes []byte) {
	bytes = append(make([]byte, 0, len(b.filling)), b.filling...)
	rest := bytes
	for i := range b.messages {
		n := len(b.messages[i].Bytes)
		b.messages[i].Bytes, rest = rest[:n:n], rest[n:]
	}
	return bytes
}

// PublishBatch is Publish for messages that came together. It returns how many
// streams took any of them. The batch may be Reset afterwards, and must not be
// published twice.
func (h *Hub) PublishBatch(b *Batch) (streams int) {
	if h.Streams() == 0 || len(b.messages) == 0 {
		return 0
	}
	return h.publish(b.messages, b.seal(), b.merged)
}
