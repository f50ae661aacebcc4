// Package stream carries publications to many listeners, none of which can hold
// up the publisher or each other (protocol N7).
//
// A Hub has the streams of one container. Publish hands one Message to each of
// them: where a stream has nothing waiting, the publisher writes at once and
// without blocking, so that a stream that keeps up costs one system call, no
// copy, no goroutine and no allocation. Messages that came together are published
// as a Batch, and cost no more than one. What the socket does not take waits in
// the stream's own queue, and a goroutine that exists only meanwhile writes it:
// one message at a time while it waits for the socket, and joined as long as the
// socket takes them.
//
// # What happens to a stream that does not keep up
//
// Its queue is bounded in messages and in bytes, counting what is being
// written; room is made before a message is let in.
//
//   - A message with a Key adds nothing while one with the same key is queued
//     (one that is being written is queued no longer), or ahead of it in its Batch.
//   - A message without Keep and without Key may be lost: when the queue is full
//     the oldest such messages make room. Where even all of them would not be
//     enough, they stay and a newcomer that may be lost is.
//   - When nothing that may be lost is enough to make room for a message that may
//     not, the stream is closed (CloseFull): it is never left with a silent gap.
//   - A message larger than the whole bound in bytes never gets in, whatever the
//     state of the queue: it is dropped, or, if it may not be, closes the stream
//     (CloseTooBig).
//   - A stream whose connection took nothing for Config.Stall while something
//     waited is closed (CloseStalled).
//
// Closing frees what was queued at once. Every loss and every closing is counted
// by its reason in Counters.
//
// # Order
//
// A stream's messages reach its connection in the order in which they were given
// to it, each at most once and none cut short except one that was being written
// when the stream was closed. Messages that two goroutines publish at
// once may reach two streams in different orders.
package stream
