//go:build linux

package load

import (
	"bytes"
	"fmt"

	"github.com/diverge-network/gateway/bench/wire"
)

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
	return fmt.Errorf("an event stream ended after notification %d: %v", r.last, cause)
}
