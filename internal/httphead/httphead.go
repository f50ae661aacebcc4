// Package httphead reads the head of an HTTP/1 request more strictly than
// fasthttp, which parses it: what two parties may read differently is no head.
// It reads no body and holds no connection.
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

// MaxLines is the most lines of headers that a head may have. Each takes about a
// hundred bytes for as long as the request is there, however short it is.
const MaxLines = 100

// What fasthttp says of a request's length where it has none.
const (
	Chunked = -1
	NoBody  = -2 // neither a length nor a transfer coding
)

// ErrTooBig is what Read returns of a head over Max or MaxLines.
var ErrTooBig = bufio.ErrBufferFull

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
// waits for no more than the head, and for no more of one that is malformed
// already. The error is ErrTooBig, what reading ended with, or says in what way the
// head is malformed: see Cause. With an error header holds nothing.
func Read(in *bufio.Reader, header *fasthttp.RequestHeader) error {
	if err := await(in); err != nil {
		return err
	}
	// All of the head is there, so that nothing waits any more.
	err := header.Read(in)
	if err == nil {
		err = check(header)
	}
	if err != nil {
		header.Reset()
	}
	return err
}

// await waits until the reader holds a head to its empty line. fasthttp takes
// some bare line feeds for ends of lines and waits for ever behind others.
func await(in *bufio.Reader) error {
	for seen, lines := 0, 0; ; {
		if _, err := in.Peek(seen + 1); err != nil {
			return err
		}
		b, _ := in.Peek(in.Buffered())
		if seen == 0 {
			if err := checkFirst(b[0]); err != nil {
				return err
			}
		}
		for seen < len(b) {
			if isSpace(b[seen]) && b[max(seen-1, 0)] == '\n' {
				return errFolded
			}
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
			switch lines++; {
			case lines == 1 && !endsRequestLine(b[:seen]):
				return errVersion
			case lines > 1+MaxLines:
				return ErrTooBig
			}
		}
	}
}

// Cause is what an error of Read says up to where it quotes the head, which may
// hold secrets.
func Cause(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	text, _, _ := bytes.Cut([]byte(err.Error()), []byte(`"`))
	return string(bytes.TrimRight(bytes.ReplaceAll(text, []byte("fasthttp: "), nil), ": "))
}
