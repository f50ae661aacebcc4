package upstream

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/diverge-network/gateway/pkg/answer"
	"github.com/diverge-network/gateway/pkg/stream"
)

// A stream carries bytes, in pieces; a path carries notifications. So a notification travels as a frame: whom it is for,
// its number among those, and its size, all big-endian, then the JSON. By the numbers a path knows what it has missed, and
// an answer what it waits for.
const headerSize = 1 + 8 + 4

// Whom a notification is for.
const (
	toAll = iota // every container
	toOne        // one container
)

// cursor is a place in what a path is given: the number of the last notification of each sort.
type cursor [2]uint64

func newFrame(to byte, number uint64, notification []byte) []byte {
	frame := make([]byte, 0, headerSize+len(notification))
	frame = append(frame, to)
	frame = binary.BigEndian.AppendUint64(frame, number)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(notification)))
	return append(frame, notification...)
}

func frameSize(header []byte) int { return headerSize + int(binary.BigEndian.Uint32(header[1+8:])) }

// path is one open notifications path, and the stream.Conn that leads to it. It is written to only by the stream's
// flusher, a goroutine that exists while something waits: send may block for as long as the gateway does not read.
type path struct {
	seat   *seat
	send   func(notification []byte) error
	stream *stream.Stream
	ended  chan struct{} // closed when the stream is

	rest []byte // of a frame that came in pieces, what is there; the flusher's

	// sending is held while send runs.
	sending  sync.Mutex
	finished bool

	// mu is a leaf.
	mu     sync.Mutex
	passed cursor        // what lies before it was sent or dropped
	lost   uint64        // notifications dropped since nothing waited last
	moved  chan struct{} // closed and replaced when passed grew and somebody waits
	waited bool
	gone   bool
}

var _ stream.Conn = (*path)(nil)

// TryWrite implements stream.Conn: whether send would block cannot be known.
func (p *path) TryWrite([]byte) (int, error) { return 0, nil }

// Write implements stream.Conn. It takes pieces of one frame, then of the next.
func (p *path) Write(piece []byte) (int, error) {
	frame := piece
	if p.rest != nil || len(piece) < frameSize(piece) { // the first piece is longer than a header
		if p.rest == nil {
			p.rest = make([]byte, 0, frameSize(piece))
		}
		p.rest = append(p.rest, piece...)
		if len(p.rest) < frameSize(p.rest) {
			return len(piece), nil
		}
		frame, p.rest = p.rest, nil
	}
	if err := p.deliver(frame); err != nil {
		return 0, err
	}
	return len(piece), nil
}

// SetWriteDeadline implements stream.Conn. A path may take its time; no deadline means that nothing waits any more.
func (p *path) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() {
		return nil
	}
	p.mu.Lock()
	lost := p.lost
	p.lost = 0
	p.mu.Unlock()
	p.report(lost)
	return nil
}

// Close implements stream.Conn. A send that blocks ends with its path, which is not ours to close.
func (p *path) Close() error { return nil }

// deliver fails when the path has ended; whatever else is wrong with a notification is about this one.
func (p *path) deliver(frame []byte) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	if p.finished {
		return answer.ErrPathEnded
	}
	switch err := p.send(frame[headerSize:]); {
	case errors.Is(err, answer.ErrPathEnded):
		return err
	case err != nil:
		p.seat.keeper.counters.dropped.Add(1)
		p.seat.log().Warn("dropped a notification of the MCP server", "error", err)
	}
	p.pass(frame[0], binary.BigEndian.Uint64(frame[1:]))
	return nil
}

// pass notes that a notification was sent.
func (p *path) pass(to byte, number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost += number - p.passed[to] - 1
	p.passed[to] = number
	p.wake()
}

// wake lets those who wait look again. The caller holds mu.
func (p *path) wake() {
	if p.waited {
		p.waited = false
		close(p.moved)
		p.moved = make(chan struct{})
	}
}

// behind returns nil when the path has come as far as upTo or is gone, else what is closed when it moves.
func (p *path) behind(upTo cursor) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone || p.passed[toAll] >= upTo[toAll] && p.passed[toOne] >= upTo[toOne] {
		return nil
	}
	p.waited = true
	return p.moved
}

// finish is the end of a path that was given as much as upTo.
func (p *path) finish(upTo cursor) {
	p.mu.Lock()
	p.gone = true
	p.wake()
	p.mu.Unlock()

	p.sending.Lock() // a send that runs comes to its end
	p.finished = true
	p.sending.Unlock()

	p.mu.Lock()
	lost, unsent := p.lost, upTo[toAll]-p.passed[toAll]+upTo[toOne]-p.passed[toOne]
	p.mu.Unlock()
	p.report(lost)
	if unsent > 0 { // as happens whenever a container goes
		p.seat.log().Debug("a notifications path ended before all was sent", "unsent", unsent)
	}
}

func (p *path) report(lost uint64) {
	if lost > 0 {
		p.seat.log().Warn("a notifications path did not keep up: notifications were dropped", "dropped", lost)
	}
}
