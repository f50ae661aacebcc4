package inside

import (
	"bufio"
	"bytes"
	"errors"
	"time"

	"github.com/valyala/fasthttp"
)

// maxHeader is the most bytes that a request's head may have. A reader holds as
// many.
const maxHeader = 8 << 10

// What fasthttp says of a request's length where it has none.
const (
	chunked = -1
	noBody  = -2 // neither a length nor a transfer coding
)

var errBareLineFeed = errors.New("a line of the head ends without a carriage return")

// readHead reads a request's head.
func (c *connection) readHead(header *fasthttp.RequestHeader) (refused Reason, cause string) {
	in := c.takeReader(time.Now().Add(c.handler.pace.head), 0)
	switch err := awaitHead(in); {
	case err == nil:
	case errors.Is(err, bufio.ErrBufferFull):
		return ReasonHeaderTooBig, ""
	default:
		return c.broken(err.Error())
	}
	// All of the head is there, so that nothing waits any more.
	if err := header.Read(in); err != nil {
		return c.broken(withoutQuotes(err))
	}
	if header.ContentLength() != chunked && hasField(header.RawHeaders(), "transfer-encoding") {
		return ReasonMalformed, "Transfer-Encoding may be chunked only"
	}
	return "", ""
}

// awaitHead waits until the reader holds a head to its empty line. Every line
// has to end as HTTP has it: fasthttp takes some bare line feeds for ends and
// waits for ever behind others.
func awaitHead(in *bufio.Reader) error {
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
		if len(line) > len(name) && line[len(name)] == ':' && equalFold(line[:len(name)], name) {
			return true
		}
	}
	return false
}

// withoutQuotes is what an error of fasthttp's parser says up to where it quotes
// the head, which may hold secrets.
func withoutQuotes(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	text, _, _ := bytes.Cut([]byte(err.Error()), []byte(`"`))
	return string(bytes.TrimRight(text, ": "))
}
