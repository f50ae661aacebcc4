//go:build linux

package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
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

// reader is a client on an event stream.
type reader struct {
	far   wire.Far
	of    *FanOut
	tally *tally
	last  int64 // number of the notification that was heard last

	chunked bool
	left    int    // of the chunk that is arriving, its line break included
	text    []byte // without the chunks' heads, and not done with
}

// AddReader adds a stream to the readers; p is the connection, with the head of the response read, and nothing else.
// chunked says that its body is; what is read with the head must be a whole number of chunks then.
func (f *FanOut) AddReader(p wire.Peer, chunked bool) error {
	r := &reader{of: f, tally: f.crew.at(int(f.readers)), last: f.next - 1, chunked: chunked}
	r.far.User = r
	f.readers++
	return r.tally.loop.Adopt(&r.far, p)
}

// Arrived implements wire.User.
func (r *reader) Arrived(_ *wire.Far, b []byte) (done int, err error) {
	if !r.chunked {
		return r.scan(b)
	}
	done, err = r.dechunk(b)
	if err != nil {
		return 0, err
	}
	scanned, err := r.scan(r.text)
	r.text = append(r.text[:0], r.text[scanned:]...)
	return done, err
}

// dechunk takes the text out of its chunks.
func (r *reader) dechunk(b []byte) (done int, err error) {
	for done < len(b) {
		if r.left == 0 {
			eol := bytes.IndexByte(b[done:], '\n')
			if eol < 0 {
				return done, nil
			}
			size, ok := hexadecimal(bytes.TrimSuffix(b[done:done+eol], []byte("\r")))
			if !ok {
				return 0, fmt.Errorf("no chunk: %.100q", b[done:])
			}
			done += eol + 1
			r.left = size + len("\r\n")
		}
		n := min(r.left, len(b)-done)
		text := max(0, min(n, r.left-len("\r\n")))
		r.text = append(r.text, b[done:done+text]...)
		done += n
		r.left -= n
	}
	return done, nil
}

func hexadecimal(b []byte) (n int, ok bool) {
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 + int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 + int(c|0x20-'a') + 10
		default:
			return 0, false
		}
	}
	return n, len(b) > 0 && len(b) < 8
}

var seqMark = []byte(SeqMark)

// scan looks for numbers.
func (r *reader) scan(b []byte) (done int, err error) {
	now := wire.Clock()
	for {
		at := bytes.Index(b[done:], seqMark)
		if at < 0 || done+at+len(seqMark)+SeqDigits > len(b) {
			// A mark that is cut in two is looked for again.
			if at < 0 {
				done = max(done, len(b)-len(seqMark)+1)
			}
			return done, nil
		}
		done += at + len(seqMark)
		n := int64(0)
		for _, c := range b[done : done+SeqDigits] {
			n = 10*n + int64(c-'0')
		}
		done += SeqDigits
		if n != r.last+1 {
			return 0, fmt.Errorf("notification %d came after %d: the run is void", n, r.last)
		}
		r.last = n
		if err := r.of.heard(r.tally, n, now); err != nil {
			return 0, err
		}
	}
}

// Ended implements wire.User.
func (r *reader) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("an event stream ended after notification %s: %v", strconv.FormatInt(r.last, 10), cause)
}

// sink hears frames and counts them.
type sink struct {
	far   wire.Far
	tally *tally
}

// AddSink counts the frames that arrive on p, which may have begun.
func (c *Crew) AddSink(p wire.Peer) error {
	s := &sink{tally: c.at(int(p))}
	s.far.User = s
	return s.tally.loop.Adopt(&s.far, p)
}

// Arrived implements wire.User.
func (s *sink) Arrived(_ *wire.Far, b []byte) (done int, err error) {
	n := int64(0)
	for rest := b; ; n++ {
		op, _, after, ok := wire.Unframe(rest)
		if !ok {
			s.tally.done.Add(n)
			return len(b) - len(rest), nil
		}
		if op != wire.OpBinary {
			return 0, fmt.Errorf("a frame of opcode %d", op)
		}
		rest = after
	}
}

// Ended implements wire.User.
func (s *sink) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("the frames ended: %v", cause)
}

// drain reads what is sent and forgets it.
type drain struct{ far wire.Far }

// AddDrain reads what p brings, which stays the caller's, and forgets it.
func (c *Crew) AddDrain(p wire.Peer) error {
	second, err := p.Second()
	if err != nil {
		return err
	}
	d := new(drain)
	d.far.User = d
	return c.Loops[0].Adopt(&d.far, second)
}

// Arrived implements wire.User.
func (*drain) Arrived(_ *wire.Far, b []byte) (int, error) { return len(b), nil }

// Ended implements wire.User.
func (*drain) Ended(_ *wire.Far, cause error) error {
	return fmt.Errorf("the connection ended: %v", cause)
}
