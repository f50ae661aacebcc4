package inside

import (
	"sync"

	"github.com/diverge-network/gateway/pkg/codec"
	"github.com/diverge-network/gateway/pkg/mux"
	"github.com/diverge-network/gateway/pkg/stream"
)

var _ mux.BatchSink = (*Face)(nil)

// eventOverhead is what an event adds to its JSON: "event: message", "data: "
// and the line breaks.
const eventOverhead = 32

// Notify sends a notification to every session that has a stream open (protocol
// N7), encoded once, whatever their number, into bytes that all streams share,
// and to the subscriptions that asked for it. Progress is for the one request
// that asked for it.
func (f *Face) Notify(n codec.Notification) {
	if f.forStreams(n) {
		f.toStreams(n)
	}
}

// forStreams does what a notification means but for the streams, and reports
// whether it is for these.
func (f *Face) forStreams(n codec.Notification) bool {
	if string(n.Method) == methodProgress {
		f.progress(n)
		return false
	}
	if f.tools.Load() != nil && string(n.Method) == methodToolsChanged {
		f.tools.Store(nil)
	}
	return true
}

// toStreams sends a notification to all streams that are for it.
func (f *Face) toStreams(n codec.Notification) {
	heard := f.toSubscriptions(n)
	if f.hub.Streams() > 0 && f.hub.Publish(stream.Message{Bytes: notificationEvent(n), Key: stream.KeyOf(n)}) > 0 {
		heard = true
	}
	if !heard {
		f.faces.observer.Unheard(UnheardNoStream)
	}
}

// toSubscriptions sends a notification to the subscriptions that asked for it.
func (f *Face) toSubscriptions(n codec.Notification) (heard bool) {
	s := f.subscriptions.Load()
	return s != nil && s.publish(n) > 0
}

// gathering is what of several notifications is to be published together.
type gathering struct {
	batch stream.Batch
	alone int // of what is in the batch, or would be if there were streams: how much no subscription heard
}

var gatherings = sync.Pool{New: func() any { return new(gathering) }}

// NotifyAll is Notify for notifications that came together: a stream that keeps
// up gets all of them in one write.
func (f *Face) NotifyAll(all []codec.Notification) {
	g := gatherings.Get().(*gathering)
	defer gatherings.Put(g)
	for _, n := range all {
		if !f.forStreams(n) {
			continue
		}
		if f.hub.Streams() > 0 && !f.gather(g, n) {
			f.publish(g)
			if !f.gather(g, n) { // it is too big for any company
				f.toStreams(n)
				continue
			}
		}
		if !f.toSubscriptions(n) {
			g.alone++
		}
	}
	f.publish(g)
}

// gather adds a notification to a batch, if there is room.
func (f *Face) gather(g *gathering, n codec.Notification) bool {
	if len(n.Raw) > stream.BatchBytes {
		return false
	}
	key := stream.KeyOf(n)
	if g.batch.Merges(key) {
		return true
	}
	envelope := codec.GetBuffer(2 * (len(n.Raw) + eventOverhead))
	defer envelope.Release()
	envelope.B = codec.AppendNotificationEnvelope(envelope.B, n)
	message := envelope.B
	envelope.B = codec.AppendEvent(envelope.B, message)
	return g.batch.Add(stream.Message{Bytes: envelope.B[len(message):], Key: key})
}

// publish publishes a batch, and empties it.
func (f *Face) publish(g *gathering) {
	if f.hub.PublishBatch(&g.batch) == 0 {
		for range g.alone {
			f.faces.observer.Unheard(UnheardNoStream)
		}
	}
	g.batch.Reset()
	g.alone = 0
}

func notificationEvent(n codec.Notification) []byte {
	envelope := codec.GetBuffer(len(n.Raw) + eventOverhead)
	defer envelope.Release()
	envelope.B = codec.AppendNotificationEnvelope(envelope.B, n)
	return eventOf(envelope.B)
}

// eventOf is a JSON-RPC message as an event with bytes of its own.
func eventOf(message []byte) []byte {
	return codec.AppendEvent(make([]byte, 0, len(message)+eventOverhead), message)
}
