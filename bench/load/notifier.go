//go:build linux

package load

import (
	"bytes"
	"fmt"

	"github.com/diverge-network/gateway/bench/wire"
)

// Pair is a container's notifications path and the event stream that hears it.
type Pair struct{ Notifications, Stream wire.Peer }

// notifier has one notification under way at a time, to one of its pairs after the other.
type notifier struct {
	tally       *tally
	publication Publication
	pairs       []pairEnd
	turn        int
	next        int64
	began       int64
}

type pairEnd struct {
	far         wire.Far
	of          *notifier
	publisher   wire.Peer
	last, heard int64 // numbers of what was sent, and came
}

// AddNotifier adds one; it owns the streams.
func (c *Crew) AddNotifier(pairs []Pair, publication Publication) error {
	publication.bytes = bytes.Clone(publication.bytes)
	n := &notifier{tally: c.at(len(c.starts)), publication: publication, pairs: make([]pairEnd, len(pairs)), next: 1}
	for i := range pairs {
		end := &n.pairs[i]
		end.of, end.publisher, end.far.User = n, pairs[i].Notifications, end
		if err := n.tally.loop.Adopt(&end.far, pairs[i].Stream); err != nil {
			return err
		}
	}
	c.starts = append(c.starts, n.publish)
	return nil
}

func (n *notifier) publish() error {
	end := &n.pairs[n.turn]
	if n.turn++; n.turn == len(n.pairs) {
		n.turn = 0
	}
	n.publication.number(n.next)
	end.last = n.next
	n.next++
	n.began = wire.Clock()
	n.tally.crew.inFlight.Add(1)
	return end.publisher.Send(n.publication.bytes)
}

// Arrived implements wire.User.
func (e *pairEnd) Arrived(_ *wire.Far, b []byte) (done int, err error) {
	at := bytes.Index(b, seqMark)
	if at < 0 || at+len(seqMark)+SeqDigits > len(b) {
		return 0, nil
	}
	number := int64(0)
	for _, c := range b[at+len(seqMark) : at+len(seqMark)+SeqDigits] {
		number = 10*number + int64(c-'0')
	}
	if number != e.last || e.heard == e.last {
		return 0, fmt.Errorf("notification %d came after %d, and %d was sent: the run is void", number, e.heard, e.last)
	}
	e.heard = number
	n := e.of
	n.tally.finished(n.began)
	n.tally.crew.inFlight.Add(-1)
	if n.tally.crew.open.Load() {
		return len(b), n.publish()
	}
	return len(b), nil
}

// Ended implements wire.User.
func (e *pairEnd) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("an event stream ended: %v", cause)
}
