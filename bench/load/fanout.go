//go:build linux

package load

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/diverge-network/gateway/bench/wire"
)

// SeqMark precedes the number of a notification, which has SeqDigits digits and stands near its end.
const (
	SeqMark   = `"seq":"`
	SeqDigits = 10
)

// Publication is what a publisher sends for each notification; its number is put into it each time.
type Publication struct {
	bytes  []byte
	at     int  // of the number
	masked bool // the bytes are those of a masked frame, whose payload begins at payload
	start  int
}

// NewFrame is a publication that is sent as a masked frame. text holds SeqMark and so many digits.
func NewFrame(text string) (Publication, error) {
	p := []byte("\x00" + text)
	b := wire.AppendFrame(nil, wire.OpBinary, p)
	at := bytes.Index(p, []byte(SeqMark))
	if at < 0 {
		return Publication{}, errors.New("a notification without a number")
	}
	start := len(b) - len(p)
	return Publication{bytes: b, at: start + at + len(SeqMark), masked: true, start: start}, nil
}

// NewPlain is a publication that is sent as it is.
func NewPlain(text string) (Publication, error) {
	at := bytes.Index([]byte(text), []byte(SeqMark))
	if at < 0 {
		return Publication{}, errors.New("a notification without a number")
	}
	return Publication{bytes: []byte(text), at: at + len(SeqMark)}, nil
}

// number puts n into the publication.
func (p *Publication) number(n int64) {
	for i := SeqDigits - 1; i >= 0; i-- {
		p.bytes[p.at+i] = byte('0' + n%10)
		n /= 10
	}
	if p.masked {
		var key [4]byte
		copy(key[:], p.bytes[p.start-4:p.start])
		for i := range SeqDigits {
			p.bytes[p.at+i] ^= key[(p.at-p.start+i)&3]
		}
	}
}

// FanOut publishes numbered notifications, and hears them on any number of event streams. At most window of them are under
// way: the next begins when the oldest has reached every reader. Each reader has to hear each of them once, in order.
type FanOut struct {
	crew    *Crew
	window  int64
	readers int64

	mu          sync.Mutex // guards what follows
	publisher   wire.Peer
	publication Publication
	next        int64 // number of the next notification; the first is 1
	every       int64 // nanoseconds between two; 0: no pace
	due         int64

	left []atomic.Int64 // readers that have not heard it yet, by number modulo window
	sent []atomic.Int64 // when it was sent, on wire.Clock
}

// NewFanOut makes the publisher of a crew. It owns p, which is open, and nobody reads it.
func (c *Crew) NewFanOut(p wire.Peer, publication Publication, window int) *FanOut {
	f := &FanOut{crew: c, window: int64(window), publisher: p, publication: publication, next: 1,
		left: make([]atomic.Int64, window), sent: make([]atomic.Int64, window)}
	c.starts = append(c.starts, f.start)
	return f
}

// Pace has it publish so many notifications a second; 0 ends that. Where a reader is behind by the window, it waits.
func (f *FanOut) Pace(rate float64) {
	f.every, f.crew.Loops[0].Due = 0, nil
	if rate > 0 {
		f.every = int64(1e9 / rate)
		f.crew.Loops[0].Due = f.duePublish
	}
}

// Through goes on through another connection, and With with another publication; the crew must not be running.
func (f *FanOut) Through(p wire.Peer)          { f.publisher = p }
func (f *FanOut) With(publication Publication) { f.publication = publication }

// Skip leaves a number out, as if a notification had been lost.
func (f *FanOut) Skip() { f.next++ }

func (f *FanOut) start() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.every > 0 {
		f.due = wire.Clock()
		return nil
	}
	for range f.window {
		if err := f.publish(wire.Clock()); err != nil {
			return err
		}
	}
	return nil
}

// publish sends the next notification; mu is held.
func (f *FanOut) publish(due int64) error {
	slot := f.next % f.window
	f.left[slot].Store(f.readers)
	f.sent[slot].Store(due)
	f.publication.number(f.next)
	f.next++
	f.crew.inFlight.Add(1)
	return f.publisher.Send(f.publication.bytes)
}

func (f *FanOut) duePublish() (again int64, err error) {
	if !f.crew.open.Load() {
		return wire.Clock() + 1e9, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for now := wire.Clock(); f.due <= now && f.left[f.next%f.window].Load() == 0; f.due += f.every {
		if err := f.publish(f.due); err != nil {
			return 0, err
		}
	}
	return max(f.due, wire.Clock()+20_000), nil
}

// heard counts one reader's reception of a notification.
func (f *FanOut) heard(t *tally, n, now int64) error {
	slot := n % f.window
	t.done.Add(1)
	t.late.Record(now - f.sent[slot].Load())
	if f.left[slot].Add(-1) > 0 {
		return nil
	}
	f.crew.inFlight.Add(-1)
	if f.every > 0 || !f.crew.open.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.publish(wire.Clock())
}

// Published is how many notifications were sent so far.
func (f *FanOut) Published() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next - 1
}
