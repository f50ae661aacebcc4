package sock

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// maxQueued is how many encrypted bytes the wire keeps while the socket takes
// none: a record of the writer's, and what crypto/tls answers a peer with that
// changes its keys and reads nothing.
const maxQueued = 2*maxRecord + 4<<10

var errStuck = errors.New("sock: the peer makes TLS answer and takes no answer")

// nothingYet is an error after which crypto/tls goes on as if it had not been.
type nothingYet struct{}

func (nothingYet) Error() string   { return "nothing to read yet" }
func (nothingYet) Timeout() bool   { return true }
func (nothingYet) Temporary() bool { return true }

var errNothingYet error = nothingYet{}

// wire is what crypto/tls reads and writes: a plain Conn with raw ways, whose
// reads need not wait and, after the handshake, whose writes never do.
type wire struct {
	Conn
	shaken bool // set before anybody else has it

	// The reader's.
	ahead   *Chunk // read already, from at on
	at      int
	idle    bool // Read takes what is ahead and does not wait
	ended   bool // nothing comes behind what is ahead
	records boundary
	amid    atomic.Bool // the reader waits within a record

	mu       sync.Mutex // guards what follows; a leaf
	pending  []byte     // encrypted, and to be written before anything else
	flushing int        // bytes of it that are being written
	last     bool       // what comes now waits for the end
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.read(p)
	w.records.pass(p[:n])
	return n, err
}

func (w *wire) read(p []byte) (int, error) {
	switch {
	case w.ahead != nil:
		n := copy(p, w.ahead.B[w.at:])
		if w.at += n; w.at == len(w.ahead.B) {
			w.leaveAhead()
		}
		return n, nil
	case w.ended:
		return 0, io.EOF
	case w.idle:
		return 0, errNothingYet
	default:
		return w.Conn.Conn.Read(p)
	}
}

func (w *wire) leaveAhead() {
	if w.ahead != nil {
		w.ahead.Release()
		w.ahead = nil
	}
}

// Write implements net.Conn: it keeps what the socket does not take. It is called
// with crypto/tls's lock, by the writer, and by a reader that has to answer.
func (w *wire) Write(p []byte) (n int, err error) {
	if !w.shaken {
		return w.Conn.Conn.Write(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending)+w.flushing == 0 {
		if w.last {
			n, err = w.TryWriteLast(p)
		} else {
			n, err = w.TryWrite(p)
		}
		// A deadline is for who waits.
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	if len(w.pending)+w.flushing+len(p)-n > maxQueued {
		return n, errStuck
	}
	w.pending = append(w.pending, p[n:]...)
	return len(p), nil
}

// expectEnd has what comes now leave together with the end: the last record, and
// the alert that ends TLS.
func (w *wire) expectEnd() {
	w.mu.Lock()
	w.last = true
	w.mu.Unlock()
}

// queued is how many encrypted bytes the socket has not taken.
func (w *wire) queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pending) + w.flushing
}

// tryFlush writes what fits of what is pending, and says whether that was all.
func (w *wire) tryFlush() (done bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return true, nil
	}
	n, err := w.TryWrite(w.pending)
	if w.pending = w.pending[n:]; len(w.pending) == 0 {
		w.pending = nil
	}
	return w.pending == nil, err
}

// flush writes all that is pending, and waits for it.
func (w *wire) flush() error {
	for {
		w.mu.Lock()
		out := w.pending
		w.pending, w.flushing = nil, len(out)
		w.mu.Unlock()
		if len(out) == 0 {
			return nil
		}
		n, err := w.Conn.Conn.Write(out)
		w.mu.Lock()
		w.flushing = 0
		if err != nil {
			w.pending = append(out[n:], w.pending...)
		}
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// boundary follows the records in what is read.
type boundary struct {
	header int // bytes of a header that were read, of 5
	length [2]byte
	body   int // bytes of a record that are to come
}

// amid reports whether a record has begun and not ended.
func (b *boundary) amid() bool { return b.header > 0 || b.body > 0 }

func (b *boundary) pass(p []byte) {
	const size = 5 // a type, a version, and the length in the last two
	for len(p) > 0 {
		if b.body > 0 {
			n := min(b.body, len(p))
			b.body -= n
			p = p[n:]
			continue
		}
		if at := b.header - (size - len(b.length)); at >= 0 {
			b.length[at] = p[0]
		}
		p = p[1:]
		if b.header++; b.header == size {
			b.header, b.body = 0, int(b.length[0])<<8|int(b.length[1])
		}
	}
}
