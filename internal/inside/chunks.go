package inside

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/diverge-network/gateway/internal/httphead"
)

// maxExtra is the most bytes that a body's chunk extensions and trailers may have
// together; nobody reads them.
const maxExtra = httphead.Max

// maxSizeDigits is how long a chunk's size may be written: it fits an int.
const maxSizeDigits = 15

// What is wrong with a body in chunks.
var (
	errChunkLine = errors.New("a line between the body's chunks does not end as it should, or is too long")
	errChunkSize = errors.New("the size of one of the body's chunks is malformed")
	errChunkEnd  = errors.New("one of the body's chunks is longer than its size")
	errTrailer   = errors.New("a trailer behind the body is malformed")
	errExtra     = errors.New("the body's chunk extensions and trailers are over " + strconv.Itoa(maxExtra) + " bytes")

	// errTooLong is no fault of the chunks: the body is over its limit.
	errTooLong = errors.New("the body is too big")
)

// chunks reads a body that comes in chunks (RFC 9112, 7.1), of at most limit bytes,
// and what is behind the last of them, of which nothing is kept. fasthttp's reader
// takes extensions without an end, and bare line feeds behind trailers.
type chunks struct {
	in    *bufio.Reader
	limit int  // of what is still to come
	left  int  // of the chunk under way
	ends  bool // the chunk under way has not been followed by its line end
	over  bool
	extra int // bytes of extensions and trailers so far
}

// Read implements io.Reader; io.EOF comes when everything has, trailers too.
func (c *chunks) Read(p []byte) (n int, err error) {
	if c.left == 0 && !c.over {
		err = c.next()
	}
	switch {
	case err != nil:
		return 0, err
	case c.over:
		return 0, io.EOF
	}
	n, err = c.in.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, truncated(err)
}

// next begins the next chunk, or ends the body.
func (c *chunks) next() error {
	if c.ends {
		c.ends = false
		if line, err := c.line(); err != nil || len(line) > 0 {
			return errors.Join(err, errChunkEnd)
		}
	}
	line, err := c.line()
	if err != nil {
		return err
	}
	size, extension, extended := bytes.Cut(line, []byte(";"))
	if c.left, err = parseSize(size); err != nil {
		return err
	}
	if c.limit -= c.left; c.limit < 0 {
		return errTooLong
	}
	if extended && !c.affords(extension) {
		return errExtra
	}
	if c.ends = c.left > 0; c.ends {
		return nil
	}
	return c.trailers()
}

func parseSize(digits []byte) (int, error) {
	if len(digits) > maxSizeDigits {
		return 0, errChunkSize
	}
	size := 0
	for _, b := range digits {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return 0, errChunkSize
		}
		size = size<<4 | int(b)
	}
	if len(digits) == 0 {
		return 0, errChunkSize
	}
	return size, nil
}

// trailers reads over the fields behind the last chunk, and the empty line.
func (c *chunks) trailers() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			c.over = true
			return nil
		}
		name, _, named := bytes.Cut(line, []byte(":"))
		if !named || !isHeaderName(name) {
			return errTrailer
		}
		if !c.affords(line) {
			return errExtra
		}
	}
}

// affords takes what a line had besides the size of a chunk into account.
func (c *chunks) affords(extra []byte) bool {
	c.extra += len(extra) + 1
	return c.extra <= maxExtra
}

// line reads a line, which is borrowed from the reader, without its end. There are
// no control characters in it.
func (c *chunks) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return nil, errChunkLine
	}
	if err != nil {
		return nil, truncated(err)
	}
	line, ended := bytes.CutSuffix(line, []byte("\r\n"))
	if !ended || bytes.IndexFunc(line, isControl) >= 0 {
		return nil, errChunkLine
	}
	return line, nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// truncated makes an end amid the body what it is.
func truncated(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
