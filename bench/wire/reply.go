package wire

import (
	"bytes"
	"fmt"
	"strconv"
)

// Reply reads one HTTP response after the other as they arrive. The zero value is ready.
type Reply struct {
	// Want has to be in the body's first Lead bytes, or a Feed fails; nil: anything.
	Want []byte
	// OK accepts statuses of 2xx only.
	OK bool

	left   int  // of the body, once its head was read
	inBody bool // a body with a length is being skipped
}

// Lead is how much of a body is looked at for Want.
const Lead = 4 << 10

var (
	headEnd    = []byte("\r\n\r\n")
	lengthName = []byte("content-length:")
	codingName = []byte("transfer-encoding:")
)

// Feed takes what has arrived. It returns how much of it is done with, and whether a response is whole with it. Nothing of b
// is kept: what is not done with has to be given again, with more behind it.
func (r *Reply) Feed(b []byte) (done int, whole bool, err error) {
	if r.inBody {
		done = min(len(b), r.left)
		r.left -= done
		r.inBody = r.left > 0
		return done, !r.inBody, nil
	}
	head := bytes.Index(b, headEnd)
	if head < 0 {
		return 0, false, nil
	}
	if r.OK && (head < 12 || b[9] != '2') {
		return 0, false, fmt.Errorf("the response is %.300q", b)
	}
	length, chunked := framing(b[:head+2])
	body := b[head+len(headEnd):]
	if chunked {
		n, ok := chunks(body)
		if !ok {
			return 0, false, nil
		}
		return head + len(headEnd) + n, true, r.check(body[:n])
	}
	if length < 0 {
		length = 0 // 202 and 204 of some servers
	}
	if len(body) < min(length, Lead) {
		return 0, false, nil
	}
	if length <= len(body) {
		return head + len(headEnd) + length, true, r.check(body[:length])
	}
	r.left, r.inBody = length-len(body), true
	return len(b), false, r.check(body)
}

func (r *Reply) check(body []byte) error {
	if r.Want != nil && !bytes.Contains(body[:min(len(body), Lead)], r.Want) {
		return fmt.Errorf("%q is not in the response %.300q", r.Want, body)
	}
	return nil
}

// framing says how long the body is: -1 if nothing does.
func framing(head []byte) (length int, chunked bool) {
	length = -1
	for {
		eol := bytes.IndexByte(head, '\n')
		if eol < 0 {
			return length, chunked
		}
		line := head[:eol]
		head = head[eol+1:]
		switch {
		case hasPrefixFold(line, lengthName):
			length = 0
			for _, c := range line[len(lengthName):] {
				if '0' <= c && c <= '9' {
					length = 10*length + int(c-'0')
				}
			}
		case hasPrefixFold(line, codingName):
			chunked = bytes.Contains(line, []byte("chunked"))
		}
	}
}

// hasPrefixFold reports whether b begins with prefix, which is in lower case, in any case.
func hasPrefixFold(b, prefix []byte) bool {
	if len(b) < len(prefix) {
		return false
	}
	for i, c := range prefix {
		if b[i] != c && b[i]|0x20 != c {
			return false
		}
	}
	return true
}

// chunks is the length of a whole chunked body at the beginning of b.
func chunks(b []byte) (n int, ok bool) {
	for {
		eol := bytes.Index(b[n:], headEnd[:2])
		if eol < 0 {
			return 0, false
		}
		size, err := strconv.ParseUint(string(b[n:n+eol]), 16, 31)
		if err != nil {
			return 0, false
		}
		n += eol + 2 + int(size) + 2
		if n > len(b) {
			return 0, false
		}
		if size == 0 {
			return n, true
		}
	}
}
