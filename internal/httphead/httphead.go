// Package httphead reads the head of an HTTP/1 request more strictly than
// fasthttp, which parses it: every line ends as HTTP has it, and there is no
// transfer coding but chunked. It reads no body and holds no connection.
package httphead

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/valyala/fasthttp"
)

// Max is the most bytes that a head may have. A reader holds as many.
const Max = 8 << 10

// What fasthttp says of a request's length where it has none.
const (
	Chunked = -1
	NoBody  = -2 // neither a length nor a transfer coding
)

// ErrTooBig is what Read returns of a head over Max.
var ErrTooBig = bufio.ErrBufferFull

var (
	errBareLineFeed = errors.New("a line of the head ends without a carriage return")
	errCoding       = errors.New("Transfer-Encoding may be chunked only")
)

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, Max) }}

// TakeReader returns a pooled reader of from, as Read wants it. The caller gives
// it back.
func TakeReader(from io.Reader) *bufio.Reader {
	in := readers.Get().(*bufio.Reader)
	in.Reset(from)
	return in
}

// GiveBack takes a reader back, and what is in it is lost.
func GiveBack(in *bufio.Reader) {
	in.Reset(nil)
	readers.Put(in)
}

// Read reads one head into header and leaves what is behind it in the reader. It
// waits for no more than the head. The error is ErrTooBig, what reading ended
// with, or says in what way the head is malformed: see Cause.
func Read(in *bufio.Reader, header *fasthttp.RequestHeader) error {
	if err := await(in); err != nil {
		return err
	}
	// All of the head is there, so that nothing waits any more.
	if err := header.Read(in); err != nil {
		return err
	}
	if header.ContentLength() != Chunked && hasField(header.RawHeaders(), "transfer-encoding") {
		return errCoding
	}
	return nil
}

// await waits until the reader holds a head to its empty line. fasthttp takes
// some bare line feeds for ends of lines and waits for ever behind others.
func await(in *bufio.Reader) error {
	for seen := 0; ; {
		if _, err := in.Peek(seen + 1); err != nil {
			return err
		}
		b, _ := in.Peek(in.Buffered())
		for {
			next := bytes.IndexByte(b[seen:], '\n')
			if next < 0 {
				seen = len(b)
				break
			}
			seen += next + 1
			if !bytes.HasSuffix(b[:seen], []byte("\r\n")) {
				return errBareLineFeed
			}
			if bytes.HasSuffix(b[:seen], []byte("\n\r\n")) {
				return nil
			}
		}
	}
}

// hasField reports whether a head's lines have a field of that name, in lower
// case: fasthttp hides some.
func hasField(lines []byte, name string) bool {
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\n"))
		if len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name)) {
			return true
		}
	}
	return false
}

// Cause is what an error of Read says up to where it quotes the head, which may
// hold secrets.
func Cause(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	text, _, _ := bytes.Cut([]byte(err.Error()), []byte(`"`))
	return string(bytes.TrimRight(text, ": "))
}
