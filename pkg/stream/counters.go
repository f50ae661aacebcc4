package stream

import "sync/atomic"

// Counters count over all streams that share them. Every message that an open
// stream was given ends in exactly one of Sent, Coalesced and Dropped; until then
// it is in Queued, or in the hands of the goroutine that gave it.
type Counters struct {
	// Streams is how many are open.
	Streams atomic.Int64
	// Queued is how many messages wait or are partly written, and QueuedBytes
	// their size: a message counts whole until its last byte is written.
	Queued, QueuedBytes atomic.Int64

	// Sent counts messages whose last byte the connection took, once per stream.
	Sent atomic.Uint64
	// Coalesced counts messages that added nothing to one that was queued.
	Coalesced atomic.Uint64
	// Dropped counts messages by why they were not sent.
	Dropped [DropReasonCount]atomic.Uint64
	// Closed counts streams by why they were closed.
	Closed [CloseReasonCount]atomic.Uint64
}

func (c *Counters) queued(messages, bytes int) {
	c.Queued.Add(int64(messages))
	c.QueuedBytes.Add(int64(bytes))
}

func (c *Counters) dropped(why DropReason, messages int) {
	if messages != 0 {
		c.Dropped[why].Add(uint64(messages))
	}
}
